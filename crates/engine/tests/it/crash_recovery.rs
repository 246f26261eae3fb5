//! Repeated batches: a call whose process died, that waits, that was decided or that has ended runs
//! again only if that is safe.

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolcrib_core::{
    Answer, ApprovalStore as _, Batch, BatchSubscriber, Call, CallId, CallStore as _, Decision,
    DecisionRecord, Effect, ErrorType, Invoker as _, OutcomeKind, Risk, StoreError,
};
use toolcrib_engine::store::MemoryCalls;
use toolcrib_testkit::ScriptedTool;

use crate::failing_store::Part;
use crate::multi_process::{Gated, Machine, again, answer, dies_while_it_runs, done, work};
use crate::support::{failure, text};

fn by_ann(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: "ann".into(), decided_at: 2_000 }
}

#[tokio::test]
async fn a_call_that_has_ended_is_answered_with_its_stored_outcome_byte_for_byte() {
    for effect in [Effect::Pure, Effect::Destructive] {
        for dies in [false, true] {
            let (machine, gated) = (Machine::new(), Gated::safe(effect).opened());
            let first = machine.process(&[&gated.tool]).await;
            let batch = work(1);
            let told = done(answer(&first, batch.clone()).await);
            let stored = machine.text_of(told.call).await.unwrap();
            if dies {
                machine.kill(&first).await;
            }
            let next = if dies { machine.process(&[&gated.tool]).await } else { first };
            for _ in 0..2 {
                let outcome = done(answer(&next, again(&batch)).await);
                assert_eq!(outcome.to_wire().to_string(), told.to_wire().to_string());
                assert_eq!(outcome.to_text(), stored);
                assert_eq!(outcome.exit_code(), told.exit_code());
            }
            assert_eq!(machine.text_of(told.call).await.unwrap(), stored);
            assert_eq!(gated.tool.runs(), 1);
        }
    }
}

#[tokio::test]
async fn failures_and_refusals_are_answered_again_as_they_were() {
    let broken = ScriptedTool::new("work").fails(toolcrib_core::ToolError::execution("no \u{0}"));
    let (machine, broken) = (Machine::new(), Arc::new(broken));
    let engine = machine.process(&[&broken]).await;
    for (name, runs) in [("work", 1), ("nothing", 1), (" ", 1)] {
        let call = Call::new(name, json!({"n": 1}));
        let batch = Batch::new(toolcrib_core::Origin::Model, vec![call]);
        let told = done(answer(&engine, batch.clone()).await);
        let outcome = done(answer(&engine, again(&batch)).await);
        assert_eq!(outcome.to_wire().to_string(), told.to_wire().to_string());
        assert_eq!(Some(outcome.to_text()), machine.text_of(told.call).await);
        assert_eq!(broken.runs(), runs);
    }
}

#[tokio::test]
async fn where_no_results_are_kept_a_call_that_has_ended_does_not_run_again() {
    let machine = Machine::with(MemoryCalls::light());
    let gated = Gated::safe(Effect::SideEffect).opened();
    let engine = machine.process(&[&gated.tool]).await;
    let batch = work(1);
    answer(&engine, batch.clone()).await;
    let outcome = done(answer(&engine, again(&batch)).await);
    let (kind, _, message) = failure(&outcome);
    assert_eq!(kind, OutcomeKind::Succeeded);
    assert!(message.contains("not kept") && message.contains("succeeded"), "{message}");
    assert_eq!(gated.tool.runs(), 1);
}

/// The next process may have started before or after the other one died.
#[tokio::test]
async fn what_a_dead_process_left_open_runs_again_only_if_it_changes_nothing() {
    for effect in
        [Effect::Pure, Effect::Read, Effect::Idempotent, Effect::SideEffect, Effect::Destructive]
    {
        for was_there in [false, true] {
            let (machine, gated) = (Machine::new(), Gated::safe(effect));
            let first = machine.process(&[&gated.tool]).await;
            let early = if was_there { Some(machine.process(&[&gated.tool]).await) } else { None };
            let run = first.open_run(toolcrib_core::RunSpec::default()).unwrap();
            let batch = Batch { run: Some(run), ..work(7) };
            dies_while_it_runs(&machine, &first, &batch).await;
            gated.open();
            let next = match early {
                Some(early) => early,
                None => machine.process(&[&gated.tool]).await,
            };
            let spec = toolcrib_core::RunSpec { id: Some(run), ..Default::default() };
            next.open_run(spec).unwrap();
            let outcome = done(answer(&next, again(&batch)).await);
            assert_eq!(outcome.call, batch.calls[0].id);
            if effect.is_repeatable() {
                assert_eq!(text(&outcome), r#"did {"n":7}"#, "{effect:?}");
                assert_eq!(gated.tool.runs(), 2);
            } else {
                let (kind, error_type, message) = failure(&outcome);
                assert_eq!((kind, error_type), (OutcomeKind::Unknown, ErrorType::UnknownOutcome));
                assert!(message.contains("Do not repeat it without checking"), "{message}");
                assert_eq!(gated.tool.runs(), 1, "{effect:?} ran again");
            }
            let stored = machine.text_of(outcome.call).await.unwrap();
            let third = done(answer(&next, again(&batch)).await);
            assert_eq!(third.to_text(), stored);
            assert_eq!(third.to_wire(), outcome.to_wire());
            assert!(machine.calls.open_calls().await.unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn a_call_that_runs_elsewhere_is_not_run_beside_it() {
    for effect in [Effect::Read, Effect::SideEffect] {
        let (machine, gated) = (Machine::new(), Gated::safe(effect));
        let engine = machine.process(&[&gated.tool]).await;
        let other = machine.process(&[&gated.tool]).await;
        let batch = work(1);
        let mut running = engine.invoke(batch.clone());
        assert!(futures_util::poll!(running.as_mut()).is_pending());
        for process in [&engine, &other] {
            let outcome = done(answer(process, again(&batch)).await);
            let (kind, _, message) = failure(&outcome);
            assert_eq!(kind, OutcomeKind::Unknown);
            assert!(message.contains("is running now"), "{message}");
        }
        gated.open();
        assert_eq!(text(running.await[0].outcome().unwrap()), r#"did {"n":1}"#);
        let outcome = done(answer(&other, again(&batch)).await);
        assert_eq!(text(&outcome), r#"did {"n":1}"#);
        assert_eq!(gated.tool.runs(), 1);
    }
}

/// Found in review: a running call was sent again, refused because the first copy ran, and the
/// refusal ended the first copy's record as failed.
#[tokio::test]
async fn a_call_that_is_sent_twice_at_once_ends_as_the_one_that_ran() {
    let (machine, gated) = (Machine::new(), Gated::safe(Effect::SideEffect));
    let engine = machine.process(&[&gated.tool]).await;
    let batch = work(1);
    let mut running = engine.invoke(batch.clone());
    assert!(futures_util::poll!(running.as_mut()).is_pending());
    let refused = done(answer(&engine, batch.clone()).await);
    let (_, error_type, message) = failure(&refused);
    assert_eq!(error_type, ErrorType::StoreFailed);
    assert!(message.contains("was started before"), "{message}");
    engine.catalog().set_tools_enabled(false);
    assert_eq!(failure(&done(answer(&engine, batch.clone()).await)).1, ErrorType::ToolsDisabled);
    gated.open();
    let told = running.await.remove(0);
    assert_eq!(told.outcome().unwrap().kind, OutcomeKind::Succeeded);
    let stored = machine.calls.call(batch.calls[0].id).await.unwrap().unwrap();
    assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Succeeded);
    assert_eq!(gated.tool.runs(), 1);
}

/// Found in review: a call that was dropped while its start was written stayed open for the
/// lifetime of its process.
#[tokio::test]
async fn a_call_that_is_dropped_while_its_beginning_is_written_ends_as_not_run() {
    for (effect, written) in
        [Effect::Read, Effect::SideEffect].into_iter().flat_map(|e| [(e, true), (e, false)])
    {
        let (machine, gated) = (Machine::new(), Gated::safe(effect));
        let (engine, store) = machine.failing(&[&gated.tool]).await;
        store.hold_beginnings(written);
        let batch = work(1);
        let mut running = engine.invoke(batch.clone());
        assert!(futures_util::poll!(running.as_mut()).is_pending());
        assert_eq!(machine.calls.open_calls().await.unwrap().len(), usize::from(written));
        drop(running);
        let stored = machine.calls.call(batch.calls[0].id).await.unwrap().unwrap();
        assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Cancelled, "it never ran");
        assert_eq!(gated.tool.runs(), 0);
        assert!(machine.calls.open_calls().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_call_that_waits_for_a_person_still_waits() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
    let first = machine.process(&[&gated.tool]).await;
    let batch = work(1);
    let Answer::Suspended(asked) = answer(&first, batch.clone()).await else { panic!("it ran") };
    machine.kill(&first).await;
    let next = machine.process(&[&gated.tool]).await;
    for _ in 0..2 {
        assert_eq!(answer(&next, again(&batch)).await, Answer::Suspended(asked.clone()));
    }
    assert_eq!(machine.approvals.pending().await.unwrap().len(), 1);
    assert_eq!(gated.tool.runs(), 0);
}

#[tokio::test]
async fn a_call_that_was_decided_about_runs_once_as_decided() {
    let edit = Decision::Edit { args: json!({"n": 5}) };
    let no = Decision::Deny { note: None };
    for (decision, ran) in
        [(Decision::approve(), Some(1)), (edit, Some(5)), (no, None), (Decision::Skip, None)]
    {
        let machine = Machine::new();
        let gated = Gated::new(Effect::SideEffect, Risk::High).opened();
        let first = machine.process(&[&gated.tool]).await;
        let batch = work(1);
        let Answer::Suspended(asked) = answer(&first, batch.clone()).await else { panic!() };
        // The decision is stored, and the process dies before it resumes the call.
        machine.approvals.decide(asked.id, by_ann(decision)).await.unwrap().unwrap();
        machine.kill(&first).await;
        let next = machine.process(&[&gated.tool]).await;
        let told = done(answer(&next, again(&batch)).await);
        let expected: Vec<_> = ran.iter().map(|n| json!({"n": n})).collect();
        assert_eq!(gated.tool.seen(), expected);
        match ran {
            Some(n) => {
                assert_eq!(text(&told), format!(r#"did {{"n":{n}}}"#));
                assert_eq!(told.report.approved_by.as_deref(), Some("ann"));
            }
            None => assert_eq!(failure(&told).1, ErrorType::ApprovalDenied),
        }
        let stored = machine.calls.call(told.call).await.unwrap().unwrap();
        assert_eq!(stored.row.facts.approval, Some(asked.id));
        let again = done(answer(&next, again(&batch)).await);
        assert_eq!(again.to_wire().to_string(), told.to_wire().to_string());
        assert_eq!(gated.tool.seen(), expected);
    }
}

/// Found in review: an approved repeatable call asked a second time.
#[tokio::test]
async fn a_call_that_was_approved_and_cut_off_runs_again_without_a_second_question() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::Read, Risk::High));
    let first = machine.process(&[&gated.tool]).await;
    let run = first.open_run(toolcrib_core::RunSpec::default()).unwrap();
    let batch = Batch { run: Some(run), ..work(1) };
    let Answer::Suspended(asked) = answer(&first, batch.clone()).await else { panic!() };
    let mut running = first.decide(asked.id, by_ann(Decision::approve()));
    assert!(futures_util::poll!(running.as_mut()).is_pending());
    machine.kill(&first).await;
    gated.open();
    let next = machine.process(&[&gated.tool]).await;
    let spec = toolcrib_core::RunSpec { id: Some(run), ..Default::default() };
    next.open_run(spec).unwrap();
    let told = done(answer(&next, again(&batch)).await);
    assert_eq!(text(&told), r#"did {"n":1}"#);
    assert_eq!(told.report.approved_by.as_deref(), Some("ann"));
    assert_eq!(machine.approvals.list("", 9).await.unwrap().len(), 1);
    assert_eq!(gated.tool.runs(), 2);
}

#[tokio::test]
async fn what_cannot_be_looked_up_does_not_run() {
    for part in [Part::Call, Part::Recover] {
        let (machine, gated) = (Machine::new(), Gated::safe(Effect::SideEffect));
        let (next, store) = machine.failing(&[&gated.tool]).await;
        let first = machine.process(&[&gated.tool]).await;
        let batch = work(1);
        dies_while_it_runs(&machine, &first, &batch).await;
        gated.open();
        store.fail(part, StoreError::Failed("I/O error".into()));
        let outcome = done(answer(&next, again(&batch)).await);
        let (_, error_type, message) = failure(&outcome);
        assert_eq!((outcome.call, error_type), (batch.calls[0].id, ErrorType::StoreFailed));
        assert!(message.contains("I/O error") && message.contains("nothing was run"), "{message}");
        assert_eq!(gated.tool.runs(), 1);
        // That answer is not recorded; a later request gets the real outcome.
        store.fail(part, None);
        let outcome = done(answer(&next, again(&batch)).await);
        assert_eq!(outcome.kind, OutcomeKind::Unknown);
        assert_eq!(gated.tool.runs(), 1);
    }
}

/// Records its notifications in order.
#[derive(Default)]
struct Told(Mutex<Vec<CallId>>);

impl BatchSubscriber for Told {
    fn on_answer(&self, answer: &Answer) {
        let call = match answer {
            Answer::Done(outcome) => outcome.call,
            Answer::Suspended(request) => request.call,
        };
        self.0.lock().unwrap().push(call);
    }
}

#[tokio::test]
async fn answers_of_a_mixed_batch_are_in_order_and_each_is_told_once() {
    let machine = Machine::new();
    let gated = Gated::safe(Effect::SideEffect).opened();
    let risky = Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::High));
    let first = machine.process(&[&gated.tool, &risky]).await;
    let calls: Vec<Call> = ["work", "work", "risky", "work", "risky", "nothing", "work"]
        .into_iter()
        .enumerate()
        .map(|(n, name)| Call::new(name, json!({"n": n})))
        .collect();
    let ids: Vec<CallId> = calls.iter().map(|call| call.id).collect();
    let whole = Batch::new(toolcrib_core::Origin::Model, calls);
    // Three have ended or wait, one is decided; the others were never sent.
    let sent = [1, 2, 4].map(|place| whole.calls[place].clone()).to_vec();
    let answers = first.invoke(Batch { calls: sent, ..whole.clone() }).await;
    let Answer::Suspended(decided) = &answers[2] else { panic!() };
    let yes = by_ann(Decision::approve());
    machine.approvals.decide(decided.id, yes).await.unwrap().unwrap();
    machine.kill(&first).await;

    let next = machine.process(&[&gated.tool, &risky]).await;
    let told = Arc::new(Told::default());
    let answers = next.invoke_with_subscriber(again(&whole), Arc::clone(&told) as _).await;
    let found: Vec<CallId> = answers
        .iter()
        .map(|answer| match answer {
            Answer::Done(outcome) => outcome.call,
            Answer::Suspended(request) => request.call,
        })
        .collect();
    assert_eq!(found, ids);
    let kinds: Vec<_> = answers.iter().map(|a| a.outcome().map(|o| o.kind)).collect();
    use OutcomeKind::{Failed, Succeeded};
    let ok = Some(Succeeded);
    assert_eq!(kinds, [ok, ok, None, ok, ok, Some(Failed), ok]);
    let mut told = told.0.lock().unwrap().clone();
    told.sort_unstable();
    assert_eq!(told, ids);
    assert_eq!((gated.tool.runs(), risky.runs()), (4, 1));
}

#[tokio::test]
async fn watchers_are_told_when_nothing_can_be_recorded() {
    let gated = Gated::safe(Effect::Read).opened();
    let store = crate::failing_store::FailingCalls::over(&Arc::default());
    let engine = toolcrib_engine::Engine::builder().calls(Arc::clone(&store) as _).build();
    engine.catalog().attach(&toolcrib_testkit::fixed_source("test", &[&gated.tool])).await.unwrap();
    store.fail(Part::Claim, StoreError::Failed("gone".into()));
    for batch in [work(1), again(&work(1))] {
        let told = Arc::new(Told::default());
        let id = batch.calls[0].id;
        let answers = engine.invoke_with_subscriber(batch, Arc::clone(&told) as _).await;
        assert_eq!(failure(answers[0].outcome().unwrap()).1, ErrorType::StoreFailed);
        assert_eq!(*told.0.lock().unwrap(), [id]);
    }
    assert_eq!(gated.tool.runs(), 0);
}
