//! Any sequence of operations on calls gives the answers that the plain model gives.

use std::collections::BTreeSet;

use toolcrib_core::{
    Acceptance, AcceptedBatch, BatchId, CallDetails, CallId, CallRow, CallStore,
    ConversationAndRunStore, Effect, Intent, RunId, RunStatus, Settlement, StoreError, WorkerState,
};

use super::call_fixtures::{accepted, intent, settlement, under_key};
use super::calls::{EFFECTS, started};
use super::recovery::stored_run;

/// Calls, batches and keys that operations meet at.
const FEW: u8 = 5;

/// Reads operations from bytes, four each, and does them in the store, which is empty at first, and
/// in a plain model. Calls of a run are of one that is paused in `runs`, which is the same store;
/// `None` = it has no runs, and takes every one for such a run.
///
/// # Panics
/// When an answer is not the model's.
pub async fn random_call_operations(
    store: &dyn CallStore,
    runs: Option<&dyn ConversationAndRunStore>,
    bytes: &[u8],
) {
    let runs = stored_run(runs, RunStatus::Paused).await;
    let mut both = StoreAndModel { store, model: Model::default(), runs };
    for step in bytes.as_chunks::<4>().0 {
        both.step(*step).await;
        both.compare().await;
    }
}

/// A refusal, without its words.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Refused {
    Conflict,
    Fenced,
    Missing,
}

fn plain<T>(answer: Result<T, StoreError>) -> Result<T, Refused> {
    answer.map_err(|error| match error {
        StoreError::Conflict(_) => Refused::Conflict,
        StoreError::Fenced { .. } => Refused::Fenced,
        StoreError::Missing(_) => Refused::Missing,
        error => panic!("{error}"),
    })
}

/// Calls that ended as unknown, and those that ended as cancelled.
type RecoveredIds = (BTreeSet<CallId>, BTreeSet<CallId>);

/// Everything as lists that are searched from the front.
#[derive(Default)]
struct Model {
    workers: Vec<(u64, bool)>,
    rows: Vec<(CallRow, Option<String>)>,
    batches: Vec<(AcceptedBatch, bool)>,
}

impl Model {
    fn is_alive(&self, epoch: u64) -> bool {
        self.workers.contains(&(epoch, true))
    }

    fn alive(&self, epoch: u64) -> Result<(), Refused> {
        if self.is_alive(epoch) { Ok(()) } else { Err(Refused::Fenced) }
    }

    fn row(&self, call: CallId) -> Option<&(CallRow, Option<String>)> {
        self.rows.iter().find(|(row, _)| row.facts.call == call)
    }

    fn put(&mut self, row: CallRow, outcome: Option<String>) {
        self.rows.retain(|(old, _)| old.facts.call != row.facts.call);
        self.rows.push((row, outcome));
    }

    fn begin(&mut self, intent: &Intent) -> Result<(), Refused> {
        self.alive(intent.epoch)?;
        if let Some((row, _)) = self.row(intent.facts.call) {
            let repeatable = row.facts.effect.is_some_and(Effect::is_repeatable);
            if row.end.is_some() || self.is_alive(row.epoch) || !repeatable {
                return Err(Refused::Conflict);
            }
        }
        self.put(started(intent), None);
        Ok(())
    }

    fn settle(&mut self, end: &Settlement) -> Result<(), Refused> {
        let record = &end.record;
        // Whether the call has its end or its writer is gone is looked at in either order.
        self.alive(record.epoch)?;
        if let Some((row, _)) = self.row(record.facts.call) {
            if row.end.is_some() {
                return Err(Refused::Conflict);
            }
            let repeatable = row.facts.effect.is_some_and(Effect::is_repeatable);
            let is_left_behind = repeatable && !self.is_alive(row.epoch);
            if record.started_at.is_some() || !is_left_behind {
                if row.epoch != record.epoch {
                    return Err(Refused::Fenced);
                }
                if row.started_at != record.started_at {
                    return Err(Refused::Conflict);
                }
            }
        }
        self.put(record.clone().into(), end.outcome.clone());
        Ok(())
    }

    fn accept(&mut self, batch: &AcceptedBatch) -> Result<Option<(BatchId, u64)>, Refused> {
        self.alive(batch.epoch)?;
        let first = self.batches.iter().find(|(first, _)| {
            batch.key.as_ref().zip(first.key.as_ref()).is_some_and(|(a, b)| a.key == b.key)
                && first.batch.context.owner == batch.batch.context.owner
        });
        match first {
            Some((first, _)) if first.key == batch.key => Ok(Some((first.id, first.epoch))),
            Some(_) => Err(Refused::Conflict),
            None => {
                self.batches.push((batch.clone(), false));
                Ok(None)
            }
        }
    }

    fn take(&mut self, id: BatchId, epoch: u64) -> Result<bool, Refused> {
        self.alive(epoch)?;
        let workers = self.workers.clone();
        let found = self.batches.iter_mut().find(|(batch, _)| batch.id == id);
        let Some((batch, _)) = found else { return Ok(false) };
        let is_free = !workers.contains(&(batch.epoch, true));
        if is_free {
            batch.epoch = epoch;
        }
        Ok(is_free)
    }

    fn recover(&mut self, epoch: u64, now: i64) -> Result<RecoveredIds, Refused> {
        self.alive(epoch)?;
        let (mut unknown, mut cut) = Default::default();
        let workers = self.workers.clone();
        let is_alive = |epoch| workers.contains(&(epoch, true));
        let mut goes_on = BTreeSet::new();
        for (batch, _) in self.batches.iter().filter(|(_, done)| !done) {
            goes_on.extend(batch.batch.calls.iter().map(|call| call.id));
        }
        for (row, outcome) in &mut self.rows {
            if row.end.is_some() || is_alive(row.epoch) {
                continue;
            }
            let (facts, call) = (row.facts.clone(), row.facts.call);
            let intent = Intent { facts, started_at: row.started_at.unwrap(), epoch: row.epoch };
            let repeatable = intent.is_repeatable();
            if repeatable && (row.facts.run.is_some() || goes_on.contains(&call)) {
                continue;
            }
            let end = Settlement::from_crash(intent, now, row.epoch);
            *row = end.record.into();
            *outcome = end.outcome;
            BTreeSet::insert(if repeatable { &mut cut } else { &mut unknown }, call);
        }
        Ok((unknown, cut))
    }
}

struct StoreAndModel<'a> {
    store: &'a dyn CallStore,
    model: Model,
    /// The run of calls that have one.
    runs: RunId,
}

fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(prefix: &str, number: u8) -> T {
    format!("{prefix}_{:032x}", number % FEW).parse().unwrap()
}

impl StoreAndModel<'_> {
    /// One of those that ever claimed, mostly one of the newest.
    fn worker(&self, number: u8) -> u64 {
        let back = usize::from(number % 3).min(self.model.workers.len().saturating_sub(1));
        self.model.workers.iter().rev().nth(back).map_or(u64::MAX, |(epoch, _)| *epoch)
    }

    fn facts(&self, number: u8, effect: u8) -> CallDetails {
        let effect = EFFECTS[usize::from(effect) % EFFECTS.len()];
        let run = number.is_multiple_of(2).then_some(self.runs);
        CallDetails { call: id("call", number), run, ..intent(effect, 0).facts }
    }

    async fn step(&mut self, [operation, a, b, c]: [u8; 4]) {
        if self.model.workers.is_empty() || operation % 12 == 0 {
            let epoch = self.store.claim().await.unwrap();
            assert!(self.model.workers.iter().all(|(other, _)| *other < epoch));
            self.model.workers.push((epoch, true));
            return;
        }
        let epoch = self.worker(b);
        match operation % 12 {
            1 => {
                let epoch = self.worker(a);
                if self.model.is_alive(epoch) {
                    self.store.release(epoch).await.unwrap();
                    self.model.workers.retain(|(other, _)| *other != epoch);
                    self.model.workers.push((epoch, false));
                    self.model.workers.sort_unstable();
                }
            }
            2..=4 => {
                let began = Intent { facts: self.facts(a, c), started_at: i64::from(c), epoch };
                let expected = self.model.begin(&began);
                let answer = plain(self.store.begin(began.clone()).await);
                // One that changes nothing may be answered before the store has looked.
                if !(began.is_repeatable() && answer.is_ok()) {
                    assert_eq!(answer, expected, "{began:?}");
                }
            }
            5..=7 => {
                let facts = self.facts(a, c);
                let row = self.model.row(facts.call);
                let began = row.and_then(|(row, _)| row.started_at).filter(|_| c < 200);
                let end = settlement(facts, began, epoch);
                let expected = self.model.settle(&end);
                assert_eq!(plain(self.store.settle(end).await), expected);
            }
            8 => self.accept(a, c, epoch).await,
            9 => {
                let id = self.batch(a);
                let expected = self.model.take(id, epoch);
                assert_eq!(plain(self.store.take_batch(id, epoch).await), expected);
            }
            10 => {
                let id = self.batch(a);
                let found = self.model.batches.iter_mut().find(|(batch, _)| batch.id == id);
                let expected = found.map(|(_, done)| *done = true).ok_or(Refused::Missing);
                assert_eq!(plain(self.store.finish_batch(id).await), expected);
            }
            _ => {
                let now = i64::from(a) + 1_000;
                let expected = self.model.recover(epoch, now);
                let answer = plain(self.store.recover(epoch, now).await);
                let answer = answer.map(|found| {
                    (found.unknown.into_iter().collect(), found.interrupted.into_iter().collect())
                });
                assert_eq!(answer, expected);
            }
        }
    }

    /// A batch that was accepted, or an unknown id.
    fn batch(&self, number: u8) -> BatchId {
        let at = usize::from(number) % (self.model.batches.len() + 1);
        self.model.batches.get(at).map_or_else(BatchId::fresh, |(batch, _)| batch.id)
    }

    async fn accept(&mut self, a: u8, c: u8, epoch: u64) {
        let calls: [CallId; 2] = [id("call", a), id("call", c)];
        let owner = if c.is_multiple_of(7) { "ben" } else { "ann" };
        let mut batch = accepted(owner, &calls, epoch);
        if !a.is_multiple_of(4) {
            let fingerprint = if c.is_multiple_of(5) { "other" } else { "same" };
            batch = under_key(batch, &format!("key {}", a % FEW), fingerprint);
        }
        let expected = self.model.accept(&batch);
        let answer = plain(self.store.accept(batch).await).map(|answer| match answer {
            Acceptance::New => None,
            Acceptance::Known { first, is_owner_alive: is_worked_on } => {
                assert_eq!(is_worked_on, self.model.is_alive(first.epoch));
                Some((first.id, first.epoch))
            }
        });
        assert_eq!(answer, expected);
    }

    async fn compare(&self) {
        for (epoch, alive) in &self.model.workers {
            let state = self.store.worker(*epoch).await.unwrap();
            assert_eq!(matches!(state, WorkerState::Alive(_)), *alive, "{epoch}: {state:?}");
        }
        for number in 0..FEW {
            let found = self.store.call(id("call", number)).await.unwrap();
            let expected = self.model.row(id("call", number));
            assert_eq!(found.as_ref().map(|found| &found.row), expected.map(|(row, _)| row));
            if let (Some(found), Some((row, outcome))) = (found, expected) {
                assert_eq!(found.outcome.map(|outcome| outcome.to_text()), *outcome);
                let is_worked_on = row.end.is_none() && self.model.is_alive(row.epoch);
                assert_eq!(found.is_owner_alive, is_worked_on);
            }
        }
        let open = self.store.open_calls().await.unwrap();
        let open: BTreeSet<CallId> = open.iter().map(|row| row.facts.call).collect();
        let expected = self.model.rows.iter().filter(|(row, _)| row.end.is_none());
        assert_eq!(open, expected.map(|(row, _)| row.facts.call).collect());
    }
}
