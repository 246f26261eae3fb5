//! Tests of suspended scripts: resumed in another process, without running anything twice.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, Batch, CallStore as _, Decision, DecisionRecord,
    Invoker as _,
};

use crate::tool_chain_support::{Gave, Place, Process, echo, risky};

const CODE: &str = "import asyncio\nfirst = await echo(n=1)\nprint('before')\nsent = await send(n=2)\nlast = await echo(n=3)\n[first.text, sent.text, last.text]";

fn by_ann(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: "ann".into(), decided_at: 0 }
}

fn waits(answer: Answer) -> ApprovalRequest {
    match answer {
        Answer::Suspended(request) => *request,
        Answer::Done(outcome) => panic!("it ended: {outcome:?}"),
    }
}

async fn decide(process: &Process, id: ApprovalId, decision: Decision) -> Answer {
    process.engine.decide(id, by_ann(decision)).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_script_that_waits_goes_on_after_the_decision() {
    let place = Place::new().await;
    let (echo, send) = (Arc::new(echo("echo")), Arc::new(risky("send")));
    let process = place.process(&[&echo, &send], Vec::new(), None).await;
    let batch = process.batch(CODE);
    let id = batch.calls[0].id;
    let request = waits(process.answer(batch).await);
    assert_eq!(request.tool.as_str(), "send");
    assert!(request.summary.starts_with("inside a script, call 2 of at most 50: "));
    // No part of the script is running any more.
    assert!(place.calls.call(id).await.unwrap().is_none());
    assert_eq!(process.engine.running_calls().len(), 0);
    let gave = Gave::of(decide(&process, request.id, Decision::approve()).await);
    assert_eq!(gave.0.call, id);
    assert_eq!(gave.value(), json!(["n is 1", "n is 2", "n is 3"]));
    assert!(gave.text().starts_with("before\n"), "{}", gave.text());
    assert_eq!(gave.trace(), ["echo ok", "send ok", "echo ok"]);
    assert_eq!((echo.runs(), send.runs()), (2, 1));
    assert!(place.calls.call(id).await.unwrap().unwrap().outcome.is_some());
}

/// In a new process, with the saved state of the script and without: in both cases nothing runs
/// twice.
#[tokio::test]
async fn a_script_that_waits_goes_on_in_another_process() {
    for keeps in [true, false] {
        for decision in [Decision::approve(), Decision::Deny { note: None }] {
            let place = Place::new().await;
            let (echo, send) = (Arc::new(echo("echo")), Arc::new(risky("send")));
            let process = place.process(&[&echo, &send], Vec::new(), None).await;
            let run = process.run;
            let request = waits(process.answer(process.batch(CODE)).await);
            place.kill(process).await;
            if !keeps {
                std::fs::remove_dir_all(place.world.folder.path().join("suspended")).unwrap();
            }
            let process = place.process(&[&echo, &send], Vec::new(), Some(run)).await;
            let approved = matches!(decision, Decision::Approve { .. });
            let gave = Gave::of(decide(&process, request.id, decision).await);
            if approved {
                assert_eq!(gave.value(), json!(["n is 1", "n is 2", "n is 3"]), "{keeps}");
                assert_eq!(gave.trace(), ["echo ok", "send ok", "echo ok"]);
                assert_eq!((echo.runs(), send.runs()), (2, 1), "{keeps}");
            } else {
                assert!(gave.text().contains("PermissionError: Approval denied for tool 'send'."));
                assert!(gave.text().contains("line 4"), "{}", gave.text());
                assert_eq!(gave.trace(), ["echo ok", "send denied"]);
                assert_eq!((echo.runs(), send.runs()), (1, 0), "{keeps}");
            }
            assert!(gave.text().starts_with("before\n"), "{}", gave.text());
        }
    }
}

#[tokio::test]
async fn calls_side_by_side_are_decided_in_any_order() {
    let place = Place::new().await;
    let (echo, send) = (Arc::new(echo("echo")), Arc::new(risky("send")));
    let process = place.process(&[&echo, &send], Vec::new(), None).await;
    let code = "import asyncio\nrs = await asyncio.gather(send(n=1), echo(n=2), send(n=3))\n[r.text for r in rs]";
    let first = waits(process.answer(process.batch(code)).await);
    let pending = process.engine.approvals().pending().await.unwrap();
    assert_eq!(pending.len(), 2);
    let second = pending.iter().find(|request| request.id != first.id).unwrap();
    // The later one first: the script waits for the other.
    let still = waits(decide(&process, second.id, Decision::approve()).await);
    assert_eq!(still.id, first.id);
    let gave = Gave::of(decide(&process, first.id, Decision::approve()).await);
    assert_eq!(gave.value(), json!(["n is 1", "n is 2", "n is 3"]));
    assert_eq!((echo.runs(), send.runs()), (1, 2));
    // A second decision returns the first one.
    assert!(process.engine.decide(first.id, by_ann(Decision::Skip)).await.is_err());
}

#[tokio::test]
async fn a_script_that_was_killed_runs_again_and_its_calls_do_not() {
    let place = Place::new().await;
    let (echo, send) = (Arc::new(echo("echo")), Arc::new(risky("send")));
    let approve =
        toolcrib_core::ApproverReply::Decided { decision: Decision::approve(), by: "ann".into() };
    let hang = Arc::new(toolcrib_testkit::ScriptedTool::new("hang").hangs());
    let code = "a = await echo(n=1)\nb = await send(n=2)\nc = await send(n=2)\nawait hang()";
    let process = place.process(&[&echo, &send, &hang], vec![approve.clone(), approve], None).await;
    let (run, batch) = (process.run, process.batch(code));
    let engine = process.engine.clone();
    let at_work = tokio::spawn({
        let batch = batch.clone();
        async move { engine.invoke(batch).await }
    });
    while hang.runs() == 0 {
        tokio::task::yield_now().await;
    }
    place.kill(process).await;
    at_work.abort();
    let _ = at_work.await;
    let calm = Arc::new(echo_named("hang"));
    let process = place.process(&[&echo, &send, &calm], Vec::new(), Some(run)).await;
    let again = Batch { is_replay: true, ..batch };
    let gave = Gave::of(process.answer(again).await);
    assert_eq!(gave.trace(), ["echo ok", "send ok", "send ok", "hang ok"], "{}", gave.text());
    // The same call twice in a script is two calls.
    assert_eq!((echo.runs(), send.runs()), (1, 2));
}

fn echo_named(name: &str) -> toolcrib_testkit::ScriptedTool {
    toolcrib_testkit::ScriptedTool::new(name)
}

#[tokio::test]
async fn a_question_to_a_person_is_answered_inside_the_script() {
    let place = Place::new().await;
    let data = json!({"status": "waiting", "question": {"question": "Which?", "context": "", "options": ["a", "b"]}});
    let output = toolcrib_core::ToolOutput::structured(data);
    let (echo, ask) = (Arc::new(echo("echo")), Arc::new(echo_named("ask_user").returns(output)));
    let process = place.process(&[&echo, &ask], Vec::new(), None).await;
    let run = process.run;
    let code = "await echo(n=1)\nr = await ask_user()\n[r.text, r.structured['selected_option']]";
    let batch = process.batch(code);
    let id = batch.calls[0].id;
    let request = waits(process.answer(batch).await);
    assert_eq!((request.call, request.question.unwrap().question.as_str()), (id, "Which?"));
    place.kill(process).await;
    let process = place.process(&[&echo, &ask], Vec::new(), Some(run)).await;
    let answer = Decision::Answer { text: "b".into() };
    let gave = Gave::of(decide(&process, request.id, answer).await);
    assert_eq!(gave.value(), json!(["b", 2]));
    assert_eq!((echo.runs(), ask.runs(), gave.0.call), (1, 1, id));
}

#[tokio::test]
async fn a_snapshot_that_was_damaged_is_not_used() {
    let place = Place::new().await;
    let (echo, send) = (Arc::new(echo("echo")), Arc::new(risky("send")));
    for damage in ["", "x", "0000\n{}"] {
        let process = place.process(&[&echo, &send], Vec::new(), None).await;
        let request = waits(process.answer(process.batch(CODE)).await);
        let folder = place.world.folder.path().join("suspended");
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.len() < 64 << 10, "{} bytes", text.len());
            std::fs::write(&path, damage).unwrap();
        }
        let gave = Gave::of(decide(&process, request.id, Decision::approve()).await);
        assert_eq!(gave.value(), json!(["n is 1", "n is 2", "n is 3"]), "{damage}");
        // The file is removed with its script.
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{damage}");
    }
    assert_eq!((echo.runs(), send.runs()), (6, 3));
}
