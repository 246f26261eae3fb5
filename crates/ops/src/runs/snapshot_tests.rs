//! A snapshot and the later events give the same state as all events.

use proptest::prelude::*;
use serde_json::json;
use toolcrib_agent::machine::QuestionAnswer;
use toolcrib_core::{ApprovalId, ConversationId, ErrorType, OutcomeKind, RunId, UserQuestion};
use toolcrib_providers::{Stop, Usage};

use super::*;

fn call(id: u8) -> CallId {
    format!("call_{id:032x}").parse().unwrap()
}

fn tool(round: u8, index: u8, id: Option<u8>, state: ToolState) -> Event {
    let call = id.map(call);
    let (round, index) = (u32::from(round), usize::from(index));
    Event::Tool(ToolEvent { round, index, call, tool: "read_file".into(), state, report: None })
}

fn question(text: &str) -> UserQuestion {
    UserQuestion {
        question: text.into(),
        context: String::new(),
        options: vec!["a".into(), "b".into()],
    }
}

fn answer(text: String) -> Event {
    Event::Answer {
        text,
        provider: "p".into(),
        model: "m".into(),
        fallback: false,
        stop: Stop::End,
        usage: Some(Usage { input: Some(3), ..Usage::default() }),
        cost: None,
        hosted: Vec::new(),
        notes: Vec::new(),
    }
}

fn state() -> impl Strategy<Value = ToolState> {
    let output = json!({"status": "success", "result": "text"});
    prop_oneof![
        "[a-z]{0,4}".prop_map(|delta| ToolState::InputStreaming { delta }),
        "[a-z]{0,4}".prop_map(|text| ToolState::InputAvailable { args: RawArgs::Text(text) }),
        Just(ToolState::OutputAvailable {
            output: output.clone(),
            elapsed_ms: 4,
            cards: Vec::new()
        }),
        Just(ToolState::OutputDenied {
            outcome: OutcomeKind::Denied,
            error_type: Some(ErrorType::PolicyDenied),
            output,
            elapsed_ms: 1,
            reason: None,
        }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let (run, conversation) = (RunId::fresh(), ConversationId::fresh());
    prop_oneof![
        any::<bool>().prop_map(move |resumed| Event::RunStart {
            run,
            conversation,
            agent: "a".into(),
            provider: "p".into(),
            model: "m".into(),
            scripted: true,
            resumed,
        }),
        (0..3_u32).prop_map(|round| Event::Request {
            round,
            provider: "p".into(),
            model: "m".into(),
            tools: 2,
            left_out: 0,
            tokens_saved: 0,
            estimated_tokens: 9,
        }),
        "[a-z ]{0,6}".prop_map(|text| Event::TextDelta { text }),
        "[a-z ]{0,6}".prop_map(|text| Event::ReasoningDelta { text }),
        Just(Event::Retry { attempt: 2, wait_seconds: 0.5, why: "busy".into() }),
        Just(Event::Fallback { from: "p/m".into(), to: None, why: "gone".into() }),
        "[a-z ]{0,6}".prop_map(answer),
        (0..3_u8, 0..2_u8, Just(None), state())
            .prop_map(|(round, index, id, state)| tool(round, index, id, state)),
        (0..3_u8, 0..2_u8, prop::option::of(0..4_u8), state())
            .prop_map(|(round, index, id, state)| tool(round, index, id, state)),
        (0..4_u8).prop_map(|id| Event::Question {
            call: call(id),
            approval: ApprovalId::fresh(),
            question: question("Which?"),
        }),
        (0..4_u8).prop_map(|id| Event::QuestionAnswered {
            call: call(id),
            said: QuestionAnswer::Skipped
        }),
        "[a-z]{1,3}".prop_map(|name| Event::Skill { name, allowed_tools: Vec::new() }),
        "[a-z]{1,3}".prop_map(|text| Event::Notice { text }),
        Just(Event::RunPaused { run, status: "approval_needed", waiting: Vec::new() }),
        Just(Event::RunEnd {
            run,
            status: "completed",
            message: None,
            text: "end".into(),
            rounds: 2,
            calls: 3,
            usage: Usage::default(),
            cost: None,
            tokens_saved: 7,
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_snapshot_and_later_events_equal_all_events(
        events in prop::collection::vec(event(), 0..40),
        cut in 0..40_usize,
    ) {
        let mut whole = RunSnapshot::default();
        events.iter().for_each(|event| whole.apply(event));
        let cut = cut.min(events.len());
        let mut first = RunSnapshot::default();
        events[..cut].iter().for_each(|event| first.apply(event));
        // Round trip through the serialized form.
        let wire = serde_json::to_string(&first).unwrap();
        let mut again: RunSnapshot = serde_json::from_str(&wire).unwrap();
        events[cut..].iter().for_each(|event| again.apply(event));
        prop_assert_eq!(again, whole);
    }
}

fn view(events: &[Event]) -> RunSnapshot {
    let mut view = RunSnapshot::default();
    events.iter().for_each(|event| view.apply(event));
    view
}

fn request(round: u32) -> Event {
    let (provider, model) = ("p".into(), "m".into());
    Event::Request {
        round,
        provider,
        model,
        tools: 1,
        left_out: 0,
        tokens_saved: 0,
        estimated_tokens: 1,
    }
}

fn text(text: &str) -> Event {
    Event::TextDelta { text: text.into() }
}

#[test]
fn parts_of_a_request_that_is_retried_are_removed() {
    let writing = |delta: &str| tool(0, 0, None, ToolState::InputStreaming { delta: delta.into() });
    let retry = Event::Retry { attempt: 2, wait_seconds: 0.0, why: "busy".into() };
    let one = view(&[request(0), text("Hal"), writing("{\"a"), retry, text("Hello")]);
    let texts: Vec<&str> = one
        .items
        .iter()
        .filter_map(|item| match item {
            SnapshotItem::Answer(answer) => Some(answer.text.as_str()),
            SnapshotItem::Call(call) => panic!("{call:?}"),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["Hello"]);
    // The same applies to a model that another one replaces.
    let other = view(&[request(0), text("Hal"), request(0), text("Hello"), answer("Hello".into())]);
    assert_eq!(other.items.len(), 1, "{:?}", other.items);
}

#[test]
fn a_call_is_one_item_from_its_first_delta_to_its_result() {
    let output = json!({"status": "success", "result": "milk"});
    let args = RawArgs::Text(r#"{"path": "a"}"#.into());
    let done = view(&[
        request(0),
        tool(0, 0, None, ToolState::InputStreaming { delta: "{\"pa".into() }),
        tool(0, 0, None, ToolState::InputStreaming { delta: "th\"".into() }),
        answer("I look.".into()),
        tool(0, 0, Some(7), ToolState::InputAvailable { args }),
        tool(
            0,
            0,
            Some(7),
            ToolState::OutputAvailable { output: output.clone(), elapsed_ms: 5, cards: Vec::new() },
        ),
        request(1),
        tool(1, 0, None, ToolState::InputStreaming { delta: "{".into() }),
    ]);
    let calls: Vec<&SnapshotCall> = done
        .items
        .iter()
        .filter_map(|item| match item {
            SnapshotItem::Call(call) => Some(&**call),
            _ => None,
        })
        .collect();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].call, Some(call(7).to_string()));
    assert_eq!((calls[0].state.as_str(), &calls[0].output), ("output-available", &Some(output)));
    assert_eq!(calls[0].args, Some(json!({"path": "a"})));
    assert_eq!((calls[1].written.as_str(), &calls[1].call), ("{", &None));
}

#[test]
fn without_payloads_there_are_states_and_no_texts() {
    let args = RawArgs::Text(r#"{"key": "hidden"}"#.into());
    let output = json!({"result": "hidden"});
    let shown = view(&[
        request(0),
        answer("hidden".into()),
        tool(0, 0, Some(1), ToolState::InputAvailable { args }),
        tool(
            0,
            0,
            Some(1),
            ToolState::OutputAvailable { output, elapsed_ms: 5, cards: Vec::new() },
        ),
        Event::Notice { text: "hidden".into() },
        Event::Question {
            call: call(2),
            approval: ApprovalId::fresh(),
            question: question("hidden"),
        },
    ]);
    let wire = serde_json::to_string(&shown.without_payloads()).unwrap();
    assert!(!wire.contains("hidden") && wire.contains("read_file"), "{wire}");
}
