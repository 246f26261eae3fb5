//! Tests of the events of a run, in order. (Every test in this folder also checks the event
//! grammar.)

use toolcrib_core::{ApproverReply, Decision, ToolError};
use toolcrib_testkit::ScriptedApprover;

use super::event_grammar::word;
use super::*;
use crate::events::{ToolEvent, ToolState};

/// The states of the call at this index of this round.
fn states(ran: &Ran, round: u32, index: usize) -> Vec<&ToolState> {
    let found = ran.events.iter().filter_map(|event| match event {
        Event::Tool(ToolEvent { round: r, index: i, state, .. }) if (*r, *i) == (round, index) => {
            Some(state)
        }
        _ => None,
    });
    found.collect()
}

fn name(event: &Event) -> String {
    let value = serde_json::to_value(event).unwrap();
    let state = value["state"].as_str().map(|state| format!(":{state}")).unwrap_or_default();
    format!("{}{state}", value["type"].as_str().unwrap())
}

#[tokio::test]
async fn a_run_with_parallel_calls_an_approval_a_denial_and_an_error() {
    let (look, delete) = (echo("look"), Arc::new(risky("delete")));
    let broken = Arc::new(ScriptedTool::new("broken").fails(ToolError::execution("it broke")));
    let approver = ScriptedApprover::new([
        ApproverReply::Decided { decision: Decision::approve(), by: "ann".into() },
        ApproverReply::Decided {
            decision: Decision::Deny { note: Some("not that".into()) },
            by: "ann".into(),
        },
    ]);
    let first = say("Let me see.")
        .think("Hm.")
        .and_call("look", json!({"n": 1}))
        .and_call("broken", json!({}));
    let turns = [first, call("delete", 1), call("delete", 2), say("done")];
    let scene = Scene::asking(approver, turns, &[&look, &delete, &broken]).await;
    let ran = scene.run().await;
    assert_eq!(ran.end(), "completed");
    let told = |round, index| word(&states(&ran, round, index)).trim_start_matches('s').to_owned();
    assert_eq!((told(0, 0), told(0, 1)), ("io".into(), "io".into()));
    assert_eq!((told(1, 0), told(2, 0)), ("iqro".into(), "iqro".into()));
    let end = |round, index| states(&ran, round, index).pop().unwrap();
    assert!(matches!(end(0, 0), ToolState::OutputAvailable { .. }));
    assert!(
        matches!(end(0, 1), ToolState::OutputError { output, .. } if output["message"] == "it broke")
    );
    assert!(matches!(end(1, 0), ToolState::OutputAvailable { .. }));
    assert!(matches!(end(2, 0), ToolState::OutputDenied { output, .. }
        if output["message"].as_str().unwrap().contains("not that")));
    // Checks the order of events.
    let names: Vec<String> = ran.events.iter().map(name).collect();
    let at = |name: &str| {
        names.iter().position(|n| n == name).unwrap_or_else(|| panic!("{name}: {names:?}"))
    };
    let order = [
        "run-start",
        "request",
        "reasoning-delta",
        "text-delta",
        "tool:input-streaming",
        "answer",
        "tool:input-available",
        "tool:output-available",
        "tool:approval-requested",
        "tool:approval-responded",
        "tool:output-denied",
        "run-end",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{names:?}");
    assert_eq!(names.iter().filter(|name| *name == "request").count(), 4);
    assert_eq!(names.iter().filter(|name| *name == "answer").count(), 4);
    let Event::RunEnd { status, text, rounds, calls, .. } = ran.events.last().unwrap() else {
        panic!("{:?}", ran.events.last())
    };
    assert_eq!((*status, text.as_str(), *rounds, *calls), ("completed", "done", 3, 4));
}

#[tokio::test]
async fn a_question_has_its_output_when_it_is_answered() {
    let turns = [
        ScriptTurn::call("ask_user", json!({"question": "Which?", "options": ["a", "b"]})),
        say("done"),
    ];
    let mut scene = Scene::new(turns, &[]).await;
    scene.person = Arc::new(pause_and_resume::Answers("b"));
    let ran = scene.run().await;
    let states = states(&ran, 0, 0);
    let ToolState::OutputAvailable { output, .. } = states.last().unwrap() else {
        panic!("{states:?}")
    };
    assert_eq!(output["result"]["user_choice"], "b", "not that it waits");
    let at = |name_of: &str| ran.events.iter().position(|event| name(event) == name_of).unwrap();
    assert!(at("question-answered") < at("tool:output-available"));
}

#[tokio::test]
async fn the_wire_form_has_the_shared_names() {
    let event = Event::Tool(ToolEvent {
        round: 1,
        index: 0,
        call: None,
        tool: "look".to_owned(),
        state: ToolState::InputStreaming { delta: "{".to_owned() },
        report: None,
    });
    assert_eq!(
        serde_json::to_value(&event).unwrap(),
        json!({"type": "tool", "round": 1, "index": 0, "tool": "look", "state": "input-streaming", "delta": "{"})
    );
}
