//! Calls: who may begin and end one, and what is known of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{
    CallDetails, CallId, CallRow, CallStore, ConversationAndRunStore, Effect, ErrorType, Intent,
    Outcome, OutcomeKind, StoreError, ToolError, WorkerState,
};

use super::call_fixtures::{
    bare_facts, end_with, facts, full_facts, intent, outcome, refusal, settlement,
};
use super::{batches, recovery};

/// Each effect class, and a call that was not assessed.
pub(super) const EFFECTS: [Option<Effect>; 6] = [
    Some(Effect::Pure),
    Some(Effect::Read),
    Some(Effect::Idempotent),
    Some(Effect::SideEffect),
    Some(Effect::Destructive),
    None,
];

/// Each call begins once and ends once, whatever happens to its process; batches are accepted
/// once; what the dead leave behind is dealt with once. `there` is a second handle of the same
/// store, as another process has it; where there is none, the same.
///
/// A call that changes nothing may be answered before the store has looked, so its `begin` may say
/// yes where it should be refused. Then nothing is written all the same.
///
/// `runs` are the runs of the same store; `None` = it has none, and treats every run as one
/// that a process continues.
///
/// # Panics
/// When the store does something else.
pub async fn calls(
    here: Arc<dyn CallStore>,
    there: Arc<dyn CallStore>,
    runs: Option<&dyn ConversationAndRunStore>,
) {
    numbers_grow_and_owners_live_until_they_release(&*here, &*there).await;
    a_call_is_open_until_it_has_its_end(&*here).await;
    everything_that_is_known_comes_back(&*here).await;
    outcomes_come_back_byte_for_byte(&*here).await;
    a_call_that_never_started_has_an_end_too(&*here).await;
    a_call_begins_once(&*here, &*there).await;
    a_call_ends_once_and_by_its_owner(&*here, &*there).await;
    a_process_taken_for_dead_writes_nothing(&*here, &*there).await;
    what_changes_nothing_has_a_next_attempt(&*here, &*there).await;
    what_was_left_open_may_be_refused(&*here, &*there).await;
    what_waits_has_begun_nothing(&*here, &*there).await;
    the_oldest_open_call_comes_first(&*here).await;
    many_at_once_lose_nothing(&here, &there).await;
    one_end_of_many(&here, &there).await;
    batches::batches(&here, &there).await;
    recovery::recovery(&here, &there, runs).await;
}

/// Those of these calls that are open.
pub(super) async fn open_of(store: &dyn CallStore, calls: &[CallId]) -> Vec<CallId> {
    let open = store.open_calls().await.unwrap();
    open.iter().map(|row| row.facts.call).filter(|call| calls.contains(call)).collect()
}

/// What a call looks like while it runs.
pub(super) fn started(intent: &Intent) -> CallRow {
    let Intent { facts, started_at, epoch } = intent.clone();
    CallRow { facts, started_at: Some(started_at), epoch, end: None }
}

pub(super) async fn assert_open(store: &dyn CallStore, intent: &Intent, is_worked_on: bool) {
    let found = store.call(intent.facts.call).await.unwrap().unwrap();
    assert_eq!(found.row, started(intent));
    assert_eq!(found.outcome, None);
    assert_eq!(found.is_owner_alive, is_worked_on, "{intent:?}");
}

async fn assert_ended(store: &dyn CallStore, settlement: &toolcrib_core::Settlement) {
    let call = settlement.record.facts.call;
    let found = store.call(call).await.unwrap().unwrap();
    assert_eq!(found.row, settlement.record.clone().into());
    assert_eq!(found.outcome.as_ref().map(Outcome::to_text), settlement.outcome);
    assert!(!found.is_owner_alive);
    assert!(open_of(store, &[call]).await.is_empty());
}

/// A beginning that must be refused, and leave no trace.
async fn refuses(store: &dyn CallStore, intent: Intent, is_right: impl Fn(&StoreError) -> bool) {
    let call = intent.facts.call;
    let before = store.call(call).await.unwrap();
    match store.begin(intent.clone()).await {
        Ok(()) => assert!(intent.is_repeatable(), "{intent:?} began"),
        Err(error) => assert!(is_right(&error), "{error:?} for {intent:?}"),
    }
    assert_eq!(store.call(call).await.unwrap(), before, "{intent:?} left a trace");
}

fn is_conflict(error: &StoreError) -> bool {
    matches!(error, StoreError::Conflict(_))
}

fn is_fenced(error: &StoreError) -> bool {
    matches!(error, StoreError::Fenced { .. })
}

async fn numbers_grow_and_owners_live_until_they_release(
    here: &dyn CallStore,
    there: &dyn CallStore,
) {
    let (first, second) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    let third = here.claim().await.unwrap();
    assert!(0 < first && first < second && second < third, "{first} {second} {third}");
    for store in [here, there] {
        for epoch in [first, second, third] {
            let state = store.worker(epoch).await.unwrap();
            let WorkerState::Alive(words) = state else { panic!("{epoch} is {state:?}") };
            assert!(!words.is_empty(), "who is it?");
        }
        for nobody in [0, third + 1_000] {
            assert_eq!(store.worker(nobody).await, Ok(WorkerState::Unknown));
        }
    }
    here.release(first).await.unwrap();
    there.release(second).await.unwrap();
    for store in [here, there] {
        assert_eq!(store.worker(first).await, Ok(WorkerState::Gone));
        assert_eq!(store.worker(second).await, Ok(WorkerState::Gone));
        assert!(matches!(store.worker(third).await, Ok(WorkerState::Alive(_))));
    }
    here.release(third).await.unwrap();
    let fourth = there.claim().await.unwrap();
    assert!(fourth > third, "a number is never given twice");
    there.release(fourth).await.unwrap();
}

async fn a_call_is_open_until_it_has_its_end(store: &dyn CallStore) {
    let epoch = store.claim().await.unwrap();
    assert_eq!(store.call(CallId::fresh()).await, Ok(None));
    for effect in EFFECTS {
        let intent = intent(effect, epoch);
        let call = intent.facts.call;
        store.begin(intent.clone()).await.unwrap();
        assert_open(store, &intent, true).await;
        assert_eq!(open_of(store, &[call]).await, [call]);
        let end = settlement(intent.facts, Some(intent.started_at), epoch);
        store.settle(end.clone()).await.unwrap();
        assert_ended(store, &end).await;
    }
    store.release(epoch).await.unwrap();
}

async fn everything_that_is_known_comes_back(store: &dyn CallStore) {
    let epoch = store.claim().await.unwrap();
    for facts in [full_facts(), bare_facts(), facts("")] {
        let intent = Intent { facts: facts.clone(), started_at: -1, epoch };
        store.begin(intent.clone()).await.unwrap();
        assert_open(store, &intent, true).await;
        // The end may know more than the beginning did, or less.
        let later =
            CallDetails { call: facts.call, approved_by: Some("cyd".into()), ..bare_facts() };
        let mut end = settlement(later, Some(-1), epoch);
        end.record.end.run_nanos = i64::MAX.unsigned_abs();
        end.record.end.attempts = u32::MAX;
        store.settle(end.clone()).await.unwrap();
        assert_ended(store, &end).await;
    }
    store.release(epoch).await.unwrap();
}

async fn outcomes_come_back_byte_for_byte(store: &dyn CallStore) {
    let epoch = store.claim().await.unwrap();
    let failed = ToolError::new(ErrorType::Timeout, "Tool execution timed out after 5s\u{0}\r\n")
        .with_detail("detail \u{1f4a5}")
        .transient(false);
    for result in [
        Ok(json!("text with \u{0}, \u{2028}, \" and \\ in it\n")),
        Ok(json!({"b": {"z": [1e-7, 0.1, 5e-324, 1.7976931348623157e308]}, "a": u64::MAX})),
        Ok(json!(null)),
        Ok(json!("x".repeat(300_000))),
        Err(failed),
    ] {
        let facts = facts("ann");
        let outcome = outcome(&facts, result);
        let text = outcome.to_text();
        let end = end_with(facts, None, epoch, &outcome);
        store.settle(end.clone()).await.unwrap();
        let found = store.call(end.record.facts.call).await.unwrap().unwrap();
        let kept = found.outcome.unwrap();
        assert_eq!(kept.to_text(), text);
        assert_eq!(kept.to_wire().to_string(), outcome.to_wire().to_string());
        assert_eq!(found.row.end.unwrap().output_hash, Some(Outcome::hash_text(&text)));
    }
    store.release(epoch).await.unwrap();
}

async fn a_call_that_never_started_has_an_end_too(store: &dyn CallStore) {
    let epoch = store.claim().await.unwrap();
    for facts in [facts("ann"), bare_facts()] {
        let end = refusal(facts, epoch);
        store.settle(end.clone()).await.unwrap();
        assert_ended(store, &end).await;
        let again = store.settle(refusal(end.record.facts.clone(), epoch)).await;
        assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
        let late = Intent { facts: end.record.facts.clone(), started_at: 9, epoch };
        refuses(store, late, is_conflict).await;
        assert_ended(store, &end).await;
    }
    store.release(epoch).await.unwrap();
}

async fn a_call_begins_once(here: &dyn CallStore, there: &dyn CallStore) {
    let (mine, theirs) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    for effect in EFFECTS {
        let first = intent(effect, mine);
        let call = first.facts.call;
        here.begin(first.clone()).await.unwrap();
        let again = Intent { started_at: 1_600, ..first.clone() };
        refuses(here, again.clone(), is_conflict).await;
        // Another one that works at the same time may not either; it sees a call at the latest when
        // something of it has been awaited.
        if !first.is_repeatable() {
            refuses(there, Intent { epoch: theirs, ..again.clone() }, is_conflict).await;
        }
        here.settle(settlement(first.facts, Some(1_500), mine)).await.unwrap();
        for (store, epoch) in [(here, mine), (there, theirs)] {
            refuses(store, Intent { epoch, ..again.clone() }, is_conflict).await;
        }
        assert!(open_of(here, &[call]).await.is_empty());
    }
    here.release(mine).await.unwrap();
    there.release(theirs).await.unwrap();
}

async fn a_call_ends_once_and_by_its_owner(here: &dyn CallStore, there: &dyn CallStore) {
    let (mine, theirs) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    for effect in EFFECTS {
        let intent = intent(effect, mine);
        here.begin(intent.clone()).await.unwrap();
        assert_open(here, &intent, true).await;
        let end = settlement(intent.facts.clone(), Some(1_500), mine);
        let stolen = settlement(intent.facts.clone(), Some(1_500), theirs);
        // A store may delay a beginning, which other handles do not see yet: this one is asked.
        let answer = here.settle(stolen.clone()).await;
        let fenced = StoreError::Fenced { current: mine, claimed: theirs };
        assert_eq!(answer, Err(fenced), "{effect:?}");
        // The same call was sent twice: the other one was refused, or has not begun yet.
        for began in [None, Some(1_499)] {
            let answer = here.settle(settlement(intent.facts.clone(), began, mine)).await;
            assert!(matches!(answer, Err(StoreError::Conflict(_))), "{answer:?}");
        }
        assert_open(here, &intent, true).await;
        here.settle(end.clone()).await.unwrap();
        let other = outcome(&intent.facts, Err(ToolError::execution("no")));
        let second = end_with(intent.facts, Some(1_500), mine, &other);
        for (store, end) in [(here, second), (here, end.clone()), (there, stolen)] {
            let answer = store.settle(end).await;
            assert!(matches!(answer, Err(StoreError::Conflict(_))), "{answer:?}");
        }
        assert_ended(here, &end).await;
        assert_ended(there, &end).await;
    }
    here.release(mine).await.unwrap();
    there.release(theirs).await.unwrap();
}

async fn a_process_taken_for_dead_writes_nothing(here: &dyn CallStore, there: &dyn CallStore) {
    let (lost, alive) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    let begun: Vec<Intent> = EFFECTS.map(|effect| intent(effect, lost)).into();
    for intent in &begun {
        here.begin(intent.clone()).await.unwrap();
    }
    here.release(lost).await.unwrap();
    for (effect, begun) in EFFECTS.into_iter().zip(begun) {
        refuses(here, intent(effect, lost), is_fenced).await;
        let answer = here.settle(refusal(facts("ann"), lost)).await;
        assert!(matches!(answer, Err(StoreError::Fenced { .. })), "{answer:?}");
        let answer = here.settle(settlement(begun.facts.clone(), Some(1_500), lost)).await;
        assert!(matches!(answer, Err(StoreError::Fenced { .. })), "{answer:?}");
        // No other process ends it either, except by `recover`.
        let answer = there.settle(settlement(begun.facts.clone(), Some(1_500), alive)).await;
        assert_eq!(answer, Err(StoreError::Fenced { current: lost, claimed: alive }));
        assert_open(there, &begun, false).await;
        let again = Intent { epoch: alive, ..begun.clone() };
        if !begun.is_repeatable() {
            refuses(there, again, is_conflict).await;
        }
    }
    there.recover(alive, 3_000).await.unwrap();
    there.release(alive).await.unwrap();
}

/// Found by the trial of several daemons: what was refused before it began again stayed open for
/// ever.
async fn what_was_left_open_may_be_refused(here: &dyn CallStore, there: &dyn CallStore) {
    for effect in EFFECTS {
        let (lost, alive) = (here.claim().await.unwrap(), there.claim().await.unwrap());
        let begun = intent(effect, lost);
        here.begin(begun.clone()).await.unwrap();
        assert_open(here, &begun, true).await;
        let refused = refusal(begun.facts.clone(), alive);
        let early = there.settle(refused.clone()).await;
        assert!(matches!(early, Err(StoreError::Fenced { .. })), "its owner works: {early:?}");
        here.release(lost).await.unwrap();
        let settled = there.settle(refused).await;
        assert_eq!(settled.is_ok(), begun.is_repeatable(), "{effect:?}: {settled:?}");
        let stored = there.call(begun.facts.call).await.unwrap().unwrap();
        let end = stored.row.end.map(|end| end.outcome);
        assert_eq!(end, begun.is_repeatable().then_some(OutcomeKind::Denied));
        there.recover(alive, 3_000).await.unwrap();
        there.release(alive).await.unwrap();
    }
}

async fn what_changes_nothing_has_a_next_attempt(here: &dyn CallStore, there: &dyn CallStore) {
    for effect in [Effect::Pure, Effect::Read, Effect::Idempotent] {
        let (lost, alive) = (here.claim().await.unwrap(), there.claim().await.unwrap());
        let first = intent(effect, lost);
        here.begin(first.clone()).await.unwrap();
        assert_open(here, &first, true).await;
        here.release(lost).await.unwrap();
        let facts =
            CallDetails { received_at: 1_700, approved_by: Some("b".into()), ..first.facts };
        let next = Intent { facts, started_at: 1_800, epoch: alive };
        there.begin(next.clone()).await.unwrap();
        assert_open(there, &next, true).await;
        let late = here.settle(settlement(next.facts.clone(), Some(1_500), lost)).await;
        assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
        let end = settlement(next.facts.clone(), Some(1_800), alive);
        there.settle(end.clone()).await.unwrap();
        assert_ended(here, &end).await;
        there.release(alive).await.unwrap();
    }
}

async fn what_waits_has_begun_nothing(here: &dyn CallStore, there: &dyn CallStore) {
    let (one, other) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    let first = intent(Effect::Pure, one);
    let call = first.facts.call;
    here.begin(first.clone()).await.unwrap();
    // Calls of another worker, and calls that may change something, stay as they are.
    there.suspend(call, other).await.unwrap();
    assert_open(here, &first, true).await;
    let changes = intent(Effect::SideEffect, one);
    here.begin(changes.clone()).await.unwrap();
    here.suspend(changes.facts.call, one).await.unwrap();
    assert_open(here, &changes, true).await;
    here.settle(settlement(changes.facts, Some(1_500), one)).await.unwrap();
    here.suspend(call, one).await.unwrap();
    assert_eq!(there.call(call).await.unwrap(), None);
    // The process that continues it begins it while the first one still works.
    let next = Intent { started_at: 1_900, epoch: other, ..first };
    there.begin(next.clone()).await.unwrap();
    assert_open(there, &next, true).await;
    let end = settlement(next.facts, Some(1_900), other);
    there.settle(end.clone()).await.unwrap();
    there.suspend(call, other).await.unwrap();
    assert_ended(here, &end).await;
    here.release(one).await.unwrap();
    there.release(other).await.unwrap();
}

async fn the_oldest_open_call_comes_first(store: &dyn CallStore) {
    let epoch = store.claim().await.unwrap();
    let begun: Vec<Intent> = (0..12)
        .map(|n| Intent { started_at: 2_000 + n, ..intent(EFFECTS[n as usize % 6], epoch) })
        .collect();
    for intent in &begun {
        store.begin(intent.clone()).await.unwrap();
    }
    let calls: Vec<CallId> = begun.iter().map(|intent| intent.facts.call).collect();
    let open = store.open_calls().await.unwrap();
    let rows: Vec<CallRow> = open.into_iter().filter(|r| calls.contains(&r.facts.call)).collect();
    assert_eq!(rows, begun.iter().map(started).collect::<Vec<_>>());
    for intent in begun {
        store.settle(settlement(intent.facts, Some(intent.started_at), epoch)).await.unwrap();
    }
    assert!(open_of(store, &calls).await.is_empty());
    store.release(epoch).await.unwrap();
}

/// Tasks that write at once, and calls of each.
const TASKS: usize = 8;
const CALLS: usize = 40;

async fn many_at_once_lose_nothing(here: &Arc<dyn CallStore>, there: &Arc<dyn CallStore>) {
    let (mine, theirs) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let (store, epoch) =
            if task % 2 == 0 { (Arc::clone(here), mine) } else { (Arc::clone(there), theirs) };
        tasks.spawn(async move {
            let mut ended = Vec::new();
            for number in 0..CALLS {
                let intent = intent(EFFECTS[(task + number) % EFFECTS.len()], epoch);
                store.begin(intent.clone()).await.unwrap();
                let end = settlement(intent.facts, Some(1_500), epoch);
                store.settle(end.clone()).await.unwrap();
                ended.push(end);
            }
            ended
        });
    }
    let ended: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    let calls: BTreeSet<CallId> = ended.iter().map(|end| end.record.facts.call).collect();
    assert_eq!(calls.len(), TASKS * CALLS);
    for end in &ended {
        assert_ended(&**here, end).await;
    }
    here.release(mine).await.unwrap();
    there.release(theirs).await.unwrap();
}

async fn one_end_of_many(here: &Arc<dyn CallStore>, there: &Arc<dyn CallStore>) {
    let epoch = here.claim().await.unwrap();
    for round in 0..20 {
        let facts = facts("ann");
        let call = facts.call;
        let begins = round % 2 == 0;
        if begins {
            let intent = Intent { facts: facts.clone(), started_at: 1_500, epoch };
            here.begin(intent.clone()).await.unwrap();
            // Known everywhere before the race begins.
            here.settle(refusal(super::call_fixtures::facts("ann"), epoch)).await.unwrap();
        }
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..TASKS {
            let store = Arc::clone(if task % 2 == 0 { here } else { there });
            let words = ToolError::execution(format!("end {task}"));
            let outcome = outcome(&facts, Err(words));
            let end = end_with(facts.clone(), begins.then_some(1_500), epoch, &outcome);
            tasks.spawn(async move { store.settle(end.clone()).await.map(|()| end) });
        }
        let answers = tasks.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, TASKS - 1));
        assert!(lost.iter().all(|lost| matches!(lost, Err(StoreError::Conflict(_)))), "{lost:?}");
        let won = won.into_iter().next().unwrap().unwrap();
        assert_eq!(won.record.end.outcome, OutcomeKind::Failed);
        assert_eq!(won.record.facts.call, call);
        assert_ended(&**here, &won).await;
    }
    here.release(epoch).await.unwrap();
}
