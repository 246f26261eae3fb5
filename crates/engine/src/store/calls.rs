//! Calls and their outcomes, in memory.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{
    Acceptance, AcceptedBatch, BatchId, BoxFuture, CallFilter, CallHistory, CallId, CallRow,
    CallStatus, CallStore, Intent, MetricsAggregator, Recovered, Settlement, StoreError,
    StoredCall, ToolMetrics, WorkerState,
};

/// Ended calls, and batches that are done, that are remembered; the oldest go first. What is open
/// is never forgotten.
const KEPT: usize = 10_000;

/// What is known of a call.
enum Row {
    Open(Box<Intent>),
    Ended(Box<Settlement>),
}

impl Row {
    fn row(&self) -> CallRow {
        match self {
            Self::Open(intent) => CallRow {
                facts: intent.facts.clone(),
                started_at: Some(intent.started_at),
                epoch: intent.epoch,
                end: None,
            },
            Self::Ended(settlement) => settlement.record.clone().into(),
        }
    }
}

/// Who works on calls.
#[derive(Default)]
struct Claims {
    last: u64,
    /// Those that were given back.
    gone: HashSet<u64>,
}

impl Claims {
    fn is_alive(&self, epoch: u64) -> bool {
        // Number 0 is that of an engine that never claimed any.
        epoch == 0 || (epoch <= self.last && !self.gone.contains(&epoch))
    }

    fn check(&self, claimed: u64) -> Result<(), StoreError> {
        if self.is_alive(claimed) {
            return Ok(());
        }
        Err(StoreError::Fenced { current: self.last, claimed })
    }
}

#[derive(Default)]
struct State {
    claims: Claims,
    calls: HashMap<CallId, Row, foldhash::fast::RandomState>,
    /// Ended calls, the oldest first.
    ended: VecDeque<CallId>,
    /// Accepted batches, and whether they are done.
    batches: HashMap<BatchId, (AcceptedBatch, bool)>,
    keys: HashMap<(String, String), BatchId>,
    /// Batches that are done, the oldest first.
    done: VecDeque<BatchId>,
}

/// A [`CallStore`] that lives as long as the process. It knows no runs, so it treats every run as
/// one that may be resumed: calls of a run that change nothing stay open when they are
/// [recovered](CallStore::recover).
#[derive(Default)]
pub struct MemoryCalls {
    state: Mutex<State>,
    is_light: bool,
}

impl MemoryCalls {
    /// One that counts ends only: without arguments, hashes and results.
    #[must_use]
    pub fn light() -> Self {
        Self { is_light: true, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn begin(&mut self, intent: Intent) -> Result<(), StoreError> {
        self.claims.check(intent.epoch)?;
        let call = intent.facts.call;
        let next_attempt = match self.calls.get(&call) {
            None => true,
            Some(Row::Open(open)) => open.is_repeatable() && !self.claims.is_alive(open.epoch),
            Some(Row::Ended(_)) => false,
        };
        if !next_attempt {
            return Err(StoreError::Conflict(call.to_string()));
        }
        self.calls.insert(call, Row::Open(Box::new(intent)));
        Ok(())
    }

    fn put_aside(&mut self, call: CallId, epoch: u64) -> Result<(), StoreError> {
        self.claims.check(epoch)?;
        if let Some(Row::Open(open)) = self.calls.get(&call)
            && open.epoch == epoch
            && open.is_repeatable()
        {
            self.calls.remove(&call);
        }
        Ok(())
    }

    /// A call that was refused before it started has no intent, so there may be no row yet.
    fn settle(&mut self, settlement: Settlement) -> Result<(), StoreError> {
        self.claims.check(settlement.record.epoch)?;
        self.end(settlement)
    }

    fn end(&mut self, settlement: Settlement) -> Result<(), StoreError> {
        let call = settlement.record.facts.call;
        match self.calls.entry(call) {
            Entry::Occupied(row) if matches!(row.get(), Row::Ended(_)) => {
                return Err(StoreError::Conflict(call.to_string()));
            }
            Entry::Occupied(row) => {
                if let Row::Open(open) = row.get()
                    && !(settlement.record.started_at.is_none()
                        && open.is_repeatable()
                        && !self.claims.is_alive(open.epoch))
                {
                    let (current, claimed) = (open.epoch, settlement.record.epoch);
                    if current != claimed {
                        return Err(StoreError::Fenced { current, claimed });
                    }
                    if settlement.record.started_at != Some(open.started_at) {
                        return Err(StoreError::Conflict(call.to_string()));
                    }
                }
                *row.into_mut() = Row::Ended(Box::new(settlement));
            }
            Entry::Vacant(free) => {
                free.insert(Row::Ended(Box::new(settlement)));
            }
        }
        self.ended.push_back(call);
        if self.ended.len() > KEPT
            && let Some(old) = self.ended.pop_front()
        {
            self.calls.remove(&old);
        }
        Ok(())
    }

    fn accept(&mut self, batch: AcceptedBatch) -> Result<Acceptance, StoreError> {
        self.claims.check(batch.epoch)?;
        if let Some(key) = &batch.key {
            let name = (batch.batch.context.owner.clone(), key.key.clone());
            if let Some((first, _)) = self.keys.get(&name).and_then(|id| self.batches.get(id)) {
                let same = first.key.as_ref().is_some_and(|k| k.fingerprint == key.fingerprint);
                if !same {
                    return Err(StoreError::Conflict(key.key.clone()));
                }
                let is_worked_on = self.claims.is_alive(first.epoch);
                return Ok(Acceptance::Known {
                    first: Box::new(first.clone()),
                    is_owner_alive: is_worked_on,
                });
            }
            self.keys.insert(name, batch.id);
        }
        self.batches.insert(batch.id, (batch, false));
        Ok(Acceptance::New)
    }

    fn take_batch(&mut self, id: BatchId, epoch: u64) -> Result<bool, StoreError> {
        self.claims.check(epoch)?;
        let Some((batch, _)) = self.batches.get_mut(&id) else { return Ok(false) };
        let is_free = !self.claims.is_alive(batch.epoch);
        if is_free {
            batch.epoch = epoch;
        }
        Ok(is_free)
    }

    fn done(&mut self, id: BatchId) -> Result<(), StoreError> {
        let (_, done) = self.batches.get_mut(&id).ok_or(StoreError::Missing(id.to_string()))?;
        if std::mem::replace(done, true) {
            return Ok(());
        }
        self.done.push_back(id);
        if self.done.len() > KEPT
            && let Some(old) = self.done.pop_front()
            && let Some((batch, _)) = self.batches.remove(&old)
            && let Some(key) = batch.key
        {
            self.keys.remove(&(batch.batch.context.owner.clone(), key.key));
        }
        Ok(())
    }

    fn recover(&mut self, epoch: u64, now: i64) -> Result<Recovered, StoreError> {
        self.claims.check(epoch)?;
        let mut found = Recovered::default();
        // The owner of a batch continues its calls, even those that another process began.
        let mut goes_on = HashSet::new();
        for (batch, _) in self.batches.values().filter(|(_, done)| !done) {
            goes_on.extend(batch.batch.calls.iter().map(|call| call.id));
        }
        let mut open: Vec<Intent> = self
            .calls
            .values()
            .filter_map(|row| match row {
                Row::Open(intent) if !self.claims.is_alive(intent.epoch) => {
                    Some((**intent).clone())
                }
                _ => None,
            })
            .collect();
        open.sort_by_key(|intent| intent.facts.call);
        for intent in open {
            let (call, repeatable) = (intent.facts.call, intent.is_repeatable());
            let stays = repeatable && (intent.facts.run.is_some() || goes_on.contains(&call));
            if stays {
                continue;
            }
            let of = intent.epoch;
            // The store itself ends it, without a check of the owner.
            if self.end(Settlement::from_crash(intent, now, of)).is_ok() {
                if repeatable { found.interrupted.push(call) } else { found.unknown.push(call) }
            }
        }
        Ok(found)
    }
}

impl CallStore for MemoryCalls {
    fn keeps_details(&self) -> bool {
        !self.is_light
    }

    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        let mut state = self.lock();
        state.claims.last += 1;
        Box::pin(ready(Ok(state.claims.last)))
    }

    fn release(&self, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.lock().claims.gone.insert(epoch);
        Box::pin(ready(Ok(())))
    }

    fn worker(&self, epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>> {
        let state = self.lock();
        let found = if epoch == 0 || epoch > state.claims.last {
            WorkerState::Unknown
        } else if state.claims.is_alive(epoch) {
            WorkerState::Alive("this process".to_owned())
        } else {
            WorkerState::Gone
        };
        Box::pin(ready(Ok(found)))
    }

    fn accept(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        Box::pin(ready(self.lock().accept(batch)))
    }

    fn take_batch(&self, id: BatchId, epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(ready(self.lock().take_batch(id, epoch)))
    }

    fn abandoned_batches(&self) -> BoxFuture<'_, Result<Vec<AcceptedBatch>, StoreError>> {
        let state = self.lock();
        let open = state.batches.values().filter(|(_, done)| !done).map(|(batch, _)| batch);
        let dead = open.filter(|batch| !state.claims.is_alive(batch.epoch));
        let mut dead: Vec<AcceptedBatch> = dead.cloned().collect();
        dead.sort_by_key(|batch| batch.id);
        Box::pin(ready(Ok(dead)))
    }

    fn batch_of(&self, call: CallId) -> BoxFuture<'_, Result<Option<AcceptedBatch>, StoreError>> {
        let state = self.lock();
        let open = state.batches.values().filter(|(_, done)| !done).map(|(batch, _)| batch);
        let mut of_call = open.filter(|batch| batch.batch.calls.iter().any(|one| one.id == call));
        Box::pin(ready(Ok(of_call.next().cloned())))
    }

    fn finish_batch(&self, id: BatchId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().done(id)))
    }

    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().begin(intent)))
    }

    fn suspend(&self, call: CallId, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().put_aside(call, epoch)))
    }

    fn settle(&self, settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().settle(settlement)))
    }

    fn call(&self, call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>> {
        let state = self.lock();
        let found = state.calls.get(&call).map(|row| {
            let outcome = match row {
                Row::Ended(settlement) => {
                    settlement.outcome.as_deref().and_then(|text| serde_json::from_str(text).ok())
                }
                Row::Open(_) => None,
            };
            let row = row.row();
            let is_worked_on = row.end.is_none() && state.claims.is_alive(row.epoch);
            StoredCall { row, outcome, is_owner_alive: is_worked_on, earlier: Vec::new() }
        });
        Box::pin(ready(Ok(found)))
    }

    fn outcome_text(&self, call: CallId) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let text = match self.lock().calls.get(&call) {
            Some(Row::Ended(settlement)) => settlement.outcome.clone(),
            _ => None,
        };
        Box::pin(ready(Ok(text)))
    }

    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        let state = self.lock();
        let rows = state.calls.values().filter(|row| matches!(row, Row::Open(_)));
        let mut open: Vec<CallRow> = rows.map(Row::row).collect();
        open.sort_by_key(|row| row.facts.call);
        Box::pin(ready(Ok(open)))
    }

    fn recover(&self, epoch: u64, now_ms: i64) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        Box::pin(ready(self.lock().recover(epoch, now_ms)))
    }
}

impl CallHistory for MemoryCalls {
    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        let state = self.lock();
        let mut rows: Vec<CallRow> =
            state.calls.values().map(Row::row).filter(|row| fits(row, &filter)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.facts.call));
        rows.truncate(filter.limit);
        Box::pin(ready(Ok(rows)))
    }

    fn calls_with_id_prefix<'a>(
        &'a self,
        owner: &'a str,
        prefix: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<CallId>, StoreError>> {
        let state = self.lock();
        let mut ids: Vec<CallId> = state
            .calls
            .iter()
            .filter(|(id, row)| {
                row.row().facts.context.owner == owner && id.to_string().starts_with(prefix)
            })
            .map(|(id, _)| *id)
            .collect();
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        ids.truncate(limit);
        Box::pin(ready(Ok(ids)))
    }

    fn metrics<'a>(
        &'a self,
        owner: &'a str,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<ToolMetrics>, StoreError>> {
        let filter = CallFilter { owner: owner.to_owned(), since, ..CallFilter::default() };
        let state = self.lock();
        let mut tally = MetricsAggregator::default();
        let rows = state.calls.values().map(Row::row).filter(|row| fits(row, &filter));
        rows.for_each(|row| tally.add_row(&row));
        Box::pin(ready(Ok(tally.finish())))
    }
}

/// Whether a call is one of those that are looked for.
fn fits(row: &CallRow, filter: &CallFilter) -> bool {
    let facts = &row.facts;
    let is = |wanted: &Option<String>, found: Option<&str>| {
        wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
    };
    let status = match filter.status {
        None => true,
        Some(CallStatus::Open) => row.end.is_none(),
        Some(CallStatus::Ended(kind)) => row.end.as_ref().is_some_and(|end| end.outcome == kind),
    };
    status
        && facts.context.owner == filter.owner
        && is(&filter.tool, facts.tool.as_ref().map(toolcrib_core::ToolName::as_str))
        && is(&filter.operation, facts.operation.as_deref())
        && is(&filter.agent, Some(&facts.context.agent))
        && is(&filter.conversation, Some(&facts.context.conversation))
        && filter.run.is_none_or(|run| facts.run == Some(run))
        && filter.parent.is_none_or(|parent| facts.parent == Some(parent))
        && filter.since.is_none_or(|since| facts.received_at >= since)
        && filter.until.is_none_or(|until| facts.received_at < until)
        && filter.before.is_none_or(|before| facts.call < before)
}
