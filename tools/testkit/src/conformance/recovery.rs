//! Recovery of what dead processes leave behind.

use std::sync::Arc;

use toolcrib_core::{
    AcceptedBatch, BatchId, CallDetails, CallId, CallStore, ConversationAndRunStore, Effect,
    Intent, Outcome, OutcomeKind, RunId, RunStatus, Settlement, StoreError, StoredRun,
};

use super::call_fixtures::{
    Recovery, accepted, intent, json_of, recover_and_take, released_epoch, settlement,
};
use super::calls::{EFFECTS, assert_open, open_of};
use super::fixtures::{conversation, run};

/// When the dead are dealt with.
const NOW: i64 = 5_000;

pub(super) async fn recovery(
    here: &Arc<dyn CallStore>,
    there: &Arc<dyn CallStore>,
    runs: Option<&dyn ConversationAndRunStore>,
) {
    each_class_with_run_batch_and_neither(&**here, &**there, runs).await;
    if let Some(runs) = runs {
        a_call_of_an_abandoned_run_ends(&**here, &**there, runs).await;
    }
    what_the_living_do_is_left_alone(&**here, &**there).await;
    a_batch_that_another_process_took_over_keeps_its_calls(&**here, &**there).await;
    batches_can_be_left_for_another_process(&**here, &**there).await;
    what_is_done_is_not_found_again(&**here, &**there).await;
    a_process_taken_for_dead_recovers_nothing(&**here).await;
    of_many_each_is_dealt_with_once(here, there).await;
}

/// What is left behind, of these calls and batches.
fn of(found: impl Into<Recovery>, calls: &[CallId], batches: &[BatchId]) -> Recovery {
    let found = found.into();
    let mine = |mut found: Vec<CallId>| {
        found.retain(|call| calls.contains(call));
        found.sort_unstable();
        found
    };
    let mut taken = found.batches;
    taken.retain(|batch| batches.contains(&batch.id));
    Recovery { unknown: mine(found.unknown), interrupted: mine(found.interrupted), batches: taken }
}

fn ids(batches: &[AcceptedBatch]) -> Vec<BatchId> {
    batches.iter().map(|batch| batch.id).collect()
}

/// A call that ended with its process says so in the one way there is.
async fn assert_crashed(store: &dyn CallStore, intent: &Intent) {
    let (call, of) = (intent.facts.call, intent.epoch);
    let expected = Settlement::from_crash(intent.clone(), NOW, of);
    let found = store.call(call).await.unwrap().unwrap();
    assert_eq!(found.row, expected.record.into());
    assert_eq!(found.outcome.as_ref().map(Outcome::to_text), expected.outcome);
    let kind = if intent.is_repeatable() { OutcomeKind::Cancelled } else { OutcomeKind::Unknown };
    assert_eq!(found.row.end.unwrap().outcome, kind);
    assert!(!found.is_owner_alive);
    assert!(open_of(store, &[call]).await.is_empty());
}

#[derive(Clone, Copy, PartialEq)]
enum ContinuedBy {
    Run,
    Batch,
    Nobody,
}

/// A run that a process may resume.
pub(super) async fn stored_run(
    runs: Option<&dyn ConversationAndRunStore>,
    status: RunStatus,
) -> RunId {
    let Some(runs) = runs else { return RunId::fresh() };
    let talk = conversation("ann");
    runs.put_conversation(talk.clone()).await.unwrap();
    let made = StoredRun { status, ..run(&talk) };
    runs.put_run(made.clone()).await.unwrap();
    made.id
}

/// Runs that are in no table, and those that have ended, kept such calls open for ever.
async fn a_call_of_an_abandoned_run_ends(
    here: &dyn CallStore,
    there: &dyn CallStore,
    runs: &dyn ConversationAndRunStore,
) {
    let lost = there.claim().await.unwrap();
    let stored = async |status| stored_run(Some(runs), status).await;
    let cases = [
        (RunId::fresh(), false),
        (stored(RunStatus::Ended).await, false),
        (stored(RunStatus::Running).await, true),
        (stored(RunStatus::Paused).await, true),
    ];
    let mut left = Vec::new();
    for (run, stays) in cases {
        let mut begun = intent(Effect::Read, lost);
        begun.facts.run = Some(run);
        there.begin(begun.clone()).await.unwrap();
        left.push((begun, stays));
    }
    there.release(lost).await.unwrap();
    let calls: Vec<CallId> = left.iter().map(|(begun, _)| begun.facts.call).collect();
    let epoch = here.claim().await.unwrap();
    let found = of(recover_and_take(here, epoch, NOW).await.unwrap(), &calls, &[]);
    assert_eq!((found.unknown.as_slice(), found.interrupted.as_slice()), (&[][..], &calls[..2]));
    for (begun, stays) in left {
        if !stays {
            assert_crashed(here, &begun).await;
            continue;
        }
        assert_open(here, &begun, false).await;
        let next = Intent { epoch, ..begun };
        here.begin(next.clone()).await.unwrap();
        here.settle(settlement(next.facts, Some(1_500), epoch)).await.unwrap();
    }
    here.release(epoch).await.unwrap();
}

async fn each_class_with_run_batch_and_neither(
    here: &dyn CallStore,
    there: &dyn CallStore,
    runs: Option<&dyn ConversationAndRunStore>,
) {
    let lost = there.claim().await.unwrap();
    let mut left: Vec<(Intent, ContinuedBy)> = Vec::new();
    for who in [ContinuedBy::Run, ContinuedBy::Batch, ContinuedBy::Nobody] {
        for effect in EFFECTS {
            let mut intent = intent(effect, lost);
            if who == ContinuedBy::Run {
                intent.facts.run = Some(stored_run(runs, RunStatus::Paused).await);
            }
            left.push((intent, who));
        }
    }
    let calls: Vec<CallId> = left.iter().map(|(intent, _)| intent.facts.call).collect();
    let never_begun = CallId::fresh();
    let mut in_batch: Vec<CallId> = left
        .iter()
        .filter(|(_, who)| *who == ContinuedBy::Batch)
        .map(|(intent, _)| intent.facts.call)
        .collect();
    in_batch.push(never_begun);
    let batch = accepted("ann", &in_batch, lost);
    there.accept(batch.clone()).await.unwrap();
    for (intent, _) in &left {
        there.begin(intent.clone()).await.unwrap();
    }
    there.release(lost).await.unwrap();

    let epoch = here.claim().await.unwrap();
    let found = of(recover_and_take(here, epoch, NOW).await.unwrap(), &calls, &[batch.id]);
    let expected = |wanted: fn(&Intent, ContinuedBy) -> bool| -> Vec<CallId> {
        let fit = left.iter().filter(|(intent, who)| wanted(intent, *who));
        fit.map(|(intent, _)| intent.facts.call).collect()
    };
    assert_eq!(found.unknown, expected(|intent, _| !intent.is_repeatable()));
    assert_eq!(
        found.interrupted,
        expected(|intent, who| intent.is_repeatable() && who == ContinuedBy::Nobody)
    );
    let taken = AcceptedBatch { epoch, ..batch.clone() };
    assert_eq!(found.batches.iter().map(json_of).collect::<Vec<_>>(), [json_of(&taken)]);
    for (intent, who) in &left {
        if intent.is_repeatable() && *who != ContinuedBy::Nobody {
            assert_open(here, intent, false).await;
        } else {
            assert_crashed(here, intent).await;
        }
    }
    assert_eq!(here.call(never_begun).await, Ok(None));

    let again = of(recover_and_take(here, epoch, NOW + 1).await.unwrap(), &calls, &[batch.id]);
    assert!(again.unknown.is_empty() && again.interrupted.is_empty(), "{again:?}");
    assert!(again.batches.is_empty(), "it is worked on now");
    // What stayed open goes on.
    for (first, who) in left {
        if first.is_repeatable() && who != ContinuedBy::Nobody {
            let next = Intent { epoch, started_at: NOW, ..first };
            here.begin(next.clone()).await.unwrap();
            here.settle(settlement(next.facts, Some(NOW), epoch)).await.unwrap();
        }
    }
    here.finish_batch(batch.id).await.unwrap();
    assert!(open_of(here, &calls).await.is_empty());
    here.release(epoch).await.unwrap();
}

async fn what_the_living_do_is_left_alone(here: &dyn CallStore, there: &dyn CallStore) {
    let (mine, theirs) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    let begun: Vec<Intent> = EFFECTS.map(|effect| intent(effect, theirs)).into();
    let calls: Vec<CallId> = begun.iter().map(|intent| intent.facts.call).collect();
    for intent in &begun {
        there.begin(intent.clone()).await.unwrap();
    }
    let batch = accepted("ann", &calls, theirs);
    there.accept(batch.clone()).await.unwrap();
    for (store, epoch) in [(here, mine), (there, theirs)] {
        let found = of(recover_and_take(store, epoch, NOW).await.unwrap(), &calls, &[batch.id]);
        assert!(found.unknown.is_empty() && found.interrupted.is_empty(), "{found:?}");
        assert!(found.batches.is_empty(), "{found:?}");
    }
    for intent in begun {
        assert_open(here, &intent, true).await;
        there.settle(settlement(intent.facts, Some(1_500), theirs)).await.unwrap();
    }
    there.finish_batch(batch.id).await.unwrap();
    here.release(mine).await.unwrap();
    there.release(theirs).await.unwrap();
}

/// A third process recovers after the batch has a new owner that has not started its calls yet:
/// recovery must not end them.
async fn a_batch_that_another_process_took_over_keeps_its_calls(
    here: &dyn CallStore,
    there: &dyn CallStore,
) {
    let lost = here.claim().await.unwrap();
    let left = intent(Effect::Read, lost);
    let call = left.facts.call;
    let batch = accepted("ann", &[call], lost);
    here.accept(batch.clone()).await.unwrap();
    here.begin(left.clone()).await.unwrap();
    here.release(lost).await.unwrap();
    let (first, second) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    let found = of(recover_and_take(here, first, NOW).await.unwrap(), &[call], &[batch.id]);
    assert_eq!(ids(&found.batches), [batch.id]);
    let found = of(recover_and_take(there, second, NOW).await.unwrap(), &[call], &[batch.id]);
    assert!(found.interrupted.is_empty() && found.batches.is_empty(), "{found:?}");
    assert_open(there, &left, false).await;
    let next = Intent { epoch: first, ..left };
    here.begin(next.clone()).await.unwrap();
    here.settle(settlement(next.facts, Some(1_500), first)).await.unwrap();
    here.finish_batch(batch.id).await.unwrap();
    here.release(first).await.unwrap();
    there.release(second).await.unwrap();
}

/// A short-lived process deals with the calls, and leaves the batches to one that finishes them.
async fn batches_can_be_left_for_another_process(here: &dyn CallStore, there: &dyn CallStore) {
    let lost = there.claim().await.unwrap();
    let left: Vec<Intent> = EFFECTS.map(|effect| intent(effect, lost)).into();
    let calls: Vec<CallId> = left.iter().map(|intent| intent.facts.call).collect();
    let batch = accepted("ann", &calls, lost);
    there.accept(batch.clone()).await.unwrap();
    for intent in &left {
        there.begin(intent.clone()).await.unwrap();
    }
    there.release(lost).await.unwrap();
    let epoch = here.claim().await.unwrap();
    for round in 0..2 {
        let found = here.recover(epoch, NOW).await.unwrap();
        let found = of(found, &calls, &[batch.id]);
        assert!(found.batches.is_empty() && found.interrupted.is_empty(), "{found:?}");
        assert_eq!(found.unknown.len(), if round == 0 { 3 } else { 0 });
    }
    for intent in &left {
        if intent.is_repeatable() {
            assert_open(here, intent, false).await;
        } else {
            assert_crashed(here, intent).await;
        }
    }
    let found = of(recover_and_take(here, epoch, NOW).await.unwrap(), &calls, &[batch.id]);
    assert_eq!(ids(&found.batches), [batch.id]);
    here.finish_batch(batch.id).await.unwrap();
    // No process resumes it now.
    here.release(epoch).await.unwrap();
    let epoch = there.claim().await.unwrap();
    let found = of(there.recover(epoch, NOW).await.unwrap(), &calls, &[batch.id]);
    assert_eq!(found.interrupted.len(), 3);
    there.release(epoch).await.unwrap();
}

async fn what_is_done_is_not_found_again(here: &dyn CallStore, there: &dyn CallStore) {
    let lost = there.claim().await.unwrap();
    let call = CallId::fresh();
    let batch = accepted("ann", &[call], lost);
    there.accept(batch.clone()).await.unwrap();
    there.finish_batch(batch.id).await.unwrap();
    there.finish_batch(batch.id).await.unwrap();
    let late = intent(Effect::Read, lost);
    let late = Intent { facts: CallDetails { call, ..late.facts }, ..late };
    there.begin(late.clone()).await.unwrap();
    there.release(lost).await.unwrap();
    let epoch = here.claim().await.unwrap();
    let found = of(recover_and_take(here, epoch, NOW).await.unwrap(), &[call], &[batch.id]);
    assert!(found.batches.is_empty(), "{found:?}");
    assert_eq!(found.interrupted, [call], "nobody goes on with a batch that is done");
    assert_crashed(here, &late).await;
    here.release(epoch).await.unwrap();
}

async fn a_process_taken_for_dead_recovers_nothing(store: &dyn CallStore) {
    let lost = store.claim().await.unwrap();
    let left = intent(Effect::SideEffect, lost);
    store.begin(left.clone()).await.unwrap();
    store.release(lost).await.unwrap();
    for dead in [lost, released_epoch(store).await] {
        let answer = recover_and_take(store, dead, NOW).await;
        assert!(matches!(answer, Err(StoreError::Fenced { .. })), "{answer:?}");
    }
    assert_open(store, &left, false).await;
    let epoch = store.claim().await.unwrap();
    recover_and_take(store, epoch, NOW).await.unwrap();
    assert_crashed(store, &left).await;
    store.release(epoch).await.unwrap();
}

async fn of_many_each_is_dealt_with_once(here: &Arc<dyn CallStore>, there: &Arc<dyn CallStore>) {
    let lost = here.claim().await.unwrap();
    let left: Vec<Intent> = (0..60).map(|n| intent(EFFECTS[n % EFFECTS.len()], lost)).collect();
    let calls: Vec<CallId> = left.iter().map(|intent| intent.facts.call).collect();
    for intent in &left {
        here.begin(intent.clone()).await.unwrap();
    }
    let batches: Vec<AcceptedBatch> =
        (0..10).map(|_| accepted("ann", &[CallId::fresh()], lost)).collect();
    for batch in &batches {
        here.accept(batch.clone()).await.unwrap();
    }
    here.release(lost).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4 {
        let store = Arc::clone(if task % 2 == 0 { here } else { there });
        tasks.spawn(async move {
            let epoch = store.claim().await.unwrap();
            (epoch, recover_and_take(&*store, epoch, NOW).await.unwrap())
        });
    }
    let answers = tasks.join_all().await;
    let mut ended = Vec::new();
    let mut taken = Vec::new();
    for (epoch, found) in answers {
        let found = of(found, &calls, &ids(&batches));
        assert!(found.batches.iter().all(|batch| batch.epoch == epoch), "{found:?}");
        ended.extend(found.unknown);
        ended.extend(found.interrupted);
        taken.extend(ids(&found.batches));
        here.release(epoch).await.unwrap();
    }
    ended.sort_unstable();
    taken.sort_unstable();
    assert_eq!(ended, calls);
    assert_eq!(taken, ids(&batches));
    for intent in &left {
        assert_crashed(&**here, intent).await;
    }
    for batch in batches {
        here.finish_batch(batch.id).await.unwrap();
    }
}
