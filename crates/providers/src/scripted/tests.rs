//! Tests of reading and playing scripts.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_core::{BoxFuture, CallId, CancellationToken, OutcomeKind, RawArgs};

use crate::conversation::{CallAnswer, Message, ModelMessage, UserMessage};
use crate::model::{Delta, FailureKind, Model as _, ModelError, ModelReply, ModelRequest};
use crate::model_turn::Stop;
use crate::scripted::{Expect, ExpectedResult, ScriptStop, ScriptTurn, ScriptedModel};
use crate::tool_declarations::Declarations;
use crate::wire_format::Format;
use crate::wire_names::NameMap;

fn block_on<T>(future: BoxFuture<'_, T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(future)
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::User(UserMessage { text: text.to_owned(), ..Default::default() }))
}

fn request(messages: Vec<Arc<Message>>) -> ModelRequest {
    let names = ["read_file", "write_file"];
    let value =
        names.iter().map(|name| json!({"type": "function", "function": {"name": name}})).collect();
    let names = NameMap::new(Format::OpenAiChat, names);
    ModelRequest {
        system: "You are a helpful assistant.\nToday is Monday.".to_owned(),
        messages,
        tools: Some(Arc::new(Declarations { value, warnings: Vec::new(), names })),
        temperature: None,
        max_output: None,
        stream: true,
    }
}

fn ask(model: &ScriptedModel, request: &ModelRequest) -> Result<ModelReply, Box<ModelError>> {
    watch(model, request).0.map_err(Box::new)
}

fn watch(
    model: &ScriptedModel,
    request: &ModelRequest,
) -> (Result<ModelReply, ModelError>, Vec<Delta>) {
    let mut deltas = Vec::new();
    let cancel = CancellationToken::new();
    let reply = block_on(model.ask(request, &mut |delta| deltas.push(delta), &cancel));
    (reply, deltas)
}

/// The message of an answer, its calls answered with `text`.
fn answered(reply: ModelReply, text: &str) -> Arc<Message> {
    let calls = reply.turn.calls.len();
    let mut message = ModelMessage::new(reply.turn, "scripted", "t.yaml");
    for call in 0..calls {
        let answer = CallAnswer {
            call: CallId::fresh(),
            tool: None,
            kind: Some(OutcomeKind::Succeeded),
            wire: json!({"status": "success", "result": text, "notes": ["a note"]}),
            is_error: false,
            elapsed_ms: None,
            media: Vec::new(),
            for_people: Vec::new(),
            reason: None,
        };
        assert!(message.answer(call, answer));
    }
    Arc::new(Message::Model(Box::new(message)))
}

fn script(turns: impl IntoIterator<Item = ScriptTurn>) -> ScriptedModel {
    ScriptedModel::from_turns("t.yaml", turns).unwrap()
}

const TWO_ROUNDS: &str = "
version: 1
name: Two rounds
turns:
  - think: The file first.
    say: Let me look.
    calls:
      - {tool: read_file, args: {path: notes.md, limit: 5}}
      - {tool: write_file, args: '{\"path\": '}
      - {tool: list_dir, id: mine}
    usage: {input: 10, output: 4}
    expect: {last_user_contains: milk, messages: 1, tools_include: [read_file]}
  - expect:
      results:
        - {tool: read_file, outcome: succeeded, contains: eggs, is_error: false}
        - {tool: write_file}
        - {tool: list_dir, contains: a note}
    say: Eggs.
  - {say: Again., calls: [{tool: read_file}]}
";

#[test]
fn a_script_is_played_turn_by_turn() {
    let model = ScriptedModel::parse("t.yaml", TWO_ROUNDS).unwrap();
    assert_eq!(model.title(), Some("Two rounds"));
    assert!(model.info().scripted);
    assert_eq!(
        (model.info().provider.as_str(), model.info().model.as_str()),
        ("scripted", "t.yaml")
    );

    let mut messages = vec![user("is there milk?")];
    let (first, deltas) = watch(&model, &request(messages.clone()));
    let first = first.unwrap();
    let turn = &first.turn;
    assert_eq!((turn.text.as_str(), turn.reasoning.as_str()), ("Let me look.", "The file first."));
    assert_eq!((turn.stop.clone(), turn.complete), (Stop::Calls, true));
    assert_eq!(turn.usage.unwrap().total(), Some(14));
    let ids: Vec<_> =
        turn.calls.iter().map(|c| (c.provider_id.as_deref().unwrap(), c.name.as_str())).collect();
    assert_eq!(ids, [("call_1", "read_file"), ("call_2", "write_file"), ("mine", "list_dir")]);
    let args: Vec<_> = turn.calls.iter().map(|call| call.args.clone()).collect();
    let text = |text: &str| RawArgs::Text(text.to_owned());
    assert_eq!(args, [text("{\"path\":\"notes.md\",\"limit\":5}"), text("{\"path\": "), text("")]);
    // The replayed turn is valid although the second call was not.
    assert_eq!(
        turn.assistant.pointer("/tool_calls/1/function/arguments"),
        Some(&json!("{\"INVALID_JSON\":\"{\\\"path\\\": \"}"))
    );
    let shown: String = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, "Let me look.");
    assert!(deltas.contains(&Delta::CallStart { index: 2, name: "list_dir".to_owned() }));
    assert!(deltas.len() > 6, "in pieces: {deltas:?}");

    messages.push(answered(first, "eggs"));
    let second = ask(&model, &request(messages)).unwrap();
    assert_eq!((second.turn.text.as_str(), second.turn.stop), ("Eggs.", Stop::End));
    assert_eq!(model.remaining_turns(), 1);
    let third = ask(&model, &request(vec![user("again")])).unwrap();
    assert_eq!(third.turn.calls[0].provider_id.as_deref(), Some("call_4"));

    let error = ask(&model, &request(vec![user("more")])).unwrap_err();
    assert_eq!(error.kind, FailureKind::Script);
    assert_eq!(
        error.message,
        "turn 4 of the script: expected the conversation to end after 3 turns, got one more request with 1 messages; add a turn to the script"
    );
}

#[test]
fn what_does_not_fit_names_turn_expectation_and_what_came() {
    let result = |tool: &str| ExpectedResult { tool: tool.to_owned(), ..Default::default() };
    let cases = [
        (
            Expect { system_contains: Some("Bob".into()), ..Default::default() },
            "expected the system prompt to contain \"Bob\", got \"You are a helpful assistant.\\nToday is Monday.\"",
        ),
        (
            Expect { last_user_contains: Some("eggs".into()), ..Default::default() },
            "expected the last message to the model to contain \"eggs\", got \"milk?\"",
        ),
        (
            Expect { tools_include: vec!["shell".into()], ..Default::default() },
            "expected the tool `shell` to be declared, got read_file, write_file",
        ),
        (
            Expect { tools_exclude: vec!["write_file".into()], ..Default::default() },
            "expected the tool `write_file` not to be declared, got read_file, write_file",
        ),
        (
            Expect { no_tools: true, ..Default::default() },
            "expected no tools, got read_file, write_file",
        ),
        (Expect { messages: Some(3), ..Default::default() }, "expected 3 messages, got 2"),
        (
            Expect { results: Some(vec![]), ..Default::default() },
            "expected 0 results, got 1: read_file",
        ),
        (
            Expect { results: Some(vec![result("shell")]), ..Default::default() },
            "result 1: expected one of `shell`, got one of `read_file`",
        ),
        (
            Expect {
                results: Some(vec![ExpectedResult {
                    outcome: Some("denied".into()),
                    ..result("read_file")
                }]),
                ..Default::default()
            },
            "result 1: expected `read_file` to be denied, got succeeded: bread",
        ),
        (
            Expect {
                results: Some(vec![ExpectedResult { is_error: Some(true), ..result("read_file") }]),
                ..Default::default()
            },
            "result 1: expected `is_error` of `read_file` to be true, got false: bread",
        ),
        (
            Expect {
                results: Some(vec![ExpectedResult {
                    contains: Some("eggs".into()),
                    ..result("read_file")
                }]),
                ..Default::default()
            },
            "result 1: expected the result of `read_file` to contain \"eggs\", got \"bread\"",
        ),
    ];
    for (expect, message) in cases {
        let turns =
            [ScriptTurn::call("read_file", json!({})), ScriptTurn::say("ok").expect(expect)];
        let model = script(turns);
        let reply = ask(&model, &request(vec![user("milk?")])).unwrap();
        let sent = request(vec![user("milk?"), answered(reply, "bread")]);
        let error = ask(&model, &sent).unwrap_err();
        assert_eq!(error.kind, FailureKind::Script);
        assert_eq!(error.message, format!("turn 2 of the script: {message}"));
        assert_eq!(error.attempts, 0);
        // A turn whose expectation failed remains to be played.
        assert_eq!(model.remaining_turns(), 1);
    }
}

#[test]
fn an_unanswered_call_is_open() {
    let open = |outcome: &str| {
        let result = ExpectedResult {
            tool: "read_file".into(),
            outcome: Some(outcome.into()),
            ..Default::default()
        };
        Expect { results: Some(vec![result]), ..Default::default() }
    };
    let model = script([
        ScriptTurn::call("read_file", Value::Null),
        ScriptTurn::say("ok").expect(open("open")),
    ]);
    let reply = ask(&model, &request(vec![])).unwrap();
    let message = Message::Model(Box::new(ModelMessage::new(reply.turn, "scripted", "t.yaml")));
    assert_eq!(ask(&model, &request(vec![Arc::new(message)])).unwrap().turn.text, "ok");
}

/// A resumed run continues at the position of its conversation; answers of other models do not
/// count.
#[test]
fn the_place_comes_from_the_conversation() {
    let model = script([
        ScriptTurn::say("one"),
        ScriptTurn::fail(FailureKind::RateLimited, "slow down"),
        ScriptTurn::say("two"),
        ScriptTurn::say("for a summary").for_summary(),
        ScriptTurn::say("three"),
    ]);
    let said = |provider: &str| {
        let turn = script([ScriptTurn::say("x")]);
        let turn = ask(&turn, &request(vec![])).unwrap().turn;
        Arc::new(Message::Model(Box::new(ModelMessage::new(turn, provider, "t.yaml"))))
    };
    let history = vec![user("a"), said("scripted"), said("openai"), user("b"), said("scripted")];
    assert_eq!(ask(&model, &request(history)).unwrap().turn.text, "three");
    assert_eq!(model.remaining_turns(), 0);

    let fresh = script([ScriptTurn::say("one"), ScriptTurn::say("two")]);
    assert_eq!(ask(&fresh, &request(vec![user("a"), said("openai")])).unwrap().turn.text, "one");
    // From now on the model counts its own answers: trimmed messages have no effect.
    assert_eq!(ask(&fresh, &request(vec![user("a")])).unwrap().turn.text, "two");
}

#[test]
fn a_summary_has_turns_of_its_own() {
    let model = script([ScriptTurn::say("mine").for_summary(), ScriptTurn::say("hello")]);
    let mut summary = request(vec![user("The record: ...")]);
    summary.tools = None;
    summary.system = "You summarise a conversation.\nBe brief.".to_owned();
    assert_eq!(ask(&model, &summary).unwrap().turn.text, "mine");
    assert_eq!(
        ask(&model, &summary).unwrap().turn.text,
        "A scripted summary of the conversation so far."
    );
    // The last request of a run has no tools either.
    let mut last = request(vec![user("a")]);
    last.tools = None;
    assert_eq!(ask(&model, &last).unwrap().turn.text, "hello");
}

#[test]
fn a_turn_can_fail_after_some_words() {
    let turn = ScriptTurn {
        say: Some("half an ans".into()),
        ..ScriptTurn::fail(FailureKind::Unavailable, "overloaded")
    };
    let model = script([turn, ScriptTurn::say("there")]);
    let (reply, deltas) = watch(&model, &request(vec![user("a")]));
    let error = reply.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (FailureKind::Unavailable, "overloaded"));
    assert_eq!((error.partial.as_str(), error.attempts, deltas.len()), ("half an ans", 1, 3));
    assert_eq!(ask(&model, &request(vec![user("a")])).unwrap().turn.text, "there");
}

#[test]
fn stopping_keeps_what_was_shown() {
    let model = script([ScriptTurn::say("one two three")]);
    let cancel = CancellationToken::new();
    let sent = request(vec![user("a")]);
    let mut stop = |delta: Delta| {
        if delta == (Delta::Text { text: "two ".to_owned() }) {
            cancel.cancel();
        }
    };
    let error = block_on(model.ask(&sent, &mut stop, &cancel)).unwrap_err();
    assert_eq!((error.kind, error.partial.as_str()), (FailureKind::Cancelled, "one two "));
}

#[test]
fn a_stop_ends_a_long_wait_at_once() {
    let model = script([ScriptTurn::say("late").delay_ms(60_000)]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let sent = request(vec![user("a")]);
    let error = block_on(model.ask(&sent, &mut |_| {}, &cancel)).unwrap_err();
    assert_eq!(error.kind, FailureKind::Cancelled);
}

#[test]
fn without_streaming_nothing_is_shown_on_the_way() {
    let model = script([ScriptTurn::say("one two").think("hm")]);
    let mut sent = request(vec![user("a")]);
    sent.stream = false;
    let (reply, deltas) = watch(&model, &sent);
    assert_eq!((reply.unwrap().turn.text.as_str(), deltas.len()), ("one two", 0));
}

#[test]
fn a_cut_answer_has_no_runnable_half_call() {
    let turn = ScriptTurn::call("write_file", json!("{\"path\": \"a")).stop(ScriptStop::Length);
    let reply = ask(&script([turn]), &request(vec![user("a")])).unwrap();
    assert_eq!(reply.turn.stop, Stop::Length);
    assert!(matches!(reply.turn.calls[0].args, RawArgs::Broken(_)));

    let refused = ScriptTurn::say("I cannot.").stop(ScriptStop::Refused);
    let reply = ask(&script([refused]), &request(vec![user("a")])).unwrap();
    assert_eq!((reply.turn.stop, reply.turn.text.as_str()), (Stop::Refused, "I cannot."));
}

#[test]
fn y_n_on_and_off_are_texts() {
    let script = "version: 1\nturns:\n  - calls:\n      - tool: answer\n        args: {a: y, b: n, c: on, d: off, e: yes, f: no, g: true}\n";
    let model = ScriptedModel::parse("t.yaml", script).unwrap();
    let reply = ask(&model, &request(vec![user("a")])).unwrap();
    let args = r#"{"a":"y","b":"n","c":"on","d":"off","e":"yes","f":"no","g":true}"#;
    assert_eq!(reply.turn.calls[0].args, RawArgs::Text(args.to_owned()));
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let cases = [
        (
            "version: 1\nturns:\n  - sya: hello\n",
            "t.yaml:3: unknown key `sya`, did you mean `say`?",
        ),
        (
            "version: 1\nturns: []\ntunrs: []\n",
            "t.yaml:3: unknown key `tunrs`, did you mean `turns`?",
        ),
        ("turns: []\n", "t.yaml:1: `version` is missing"),
        (
            "version: 2\nturns: []\n",
            "t.yaml:1: version 2 of scripts is not known; this is version 1",
        ),
        (
            "version: 1\nturns:\n  - say: a\n  - think: b\n",
            "t.yaml:4: turn 2: the turn says nothing; give it `say`, `calls` or `fail`",
        ),
        (
            "version: 1\nturns:\n  - fail: {kind: rate_limitd}\n",
            "t.yaml:3: unknown word `rate_limitd`, did you mean `rate_limited`?",
        ),
        (
            "version: 1\nturns:\n  - calls:\n      - {tool: a, args: [1]}\n",
            "t.yaml:3: turn 1: the call of `a` needs a tool name and `args` that are an object, or a text that is sent as it is",
        ),
        (
            "version: 1\nturns:\n  - say: a\n    delay_ms: 600000\n",
            "t.yaml:3: turn 1: `delay_ms` is 600000; at most 60000",
        ),
        (
            "version: 1\nturns:\n  - say: a\n    expect:\n      results: [{tool: a, outcome: good}]\n",
            "t.yaml:3: turn 1: `good` is not an outcome; one of succeeded, failed, timed_out, cancelled, denied, expired, unknown, not_run, open",
        ),
        (
            "version: 1\nturns:\n  - {fail: {kind: idle}, calls: [{tool: a}]}\n",
            "t.yaml:3: turn 1: a turn that fails has no calls; remove `calls` or `fail`",
        ),
    ];
    for (text, message) in cases {
        let error = ScriptedModel::parse("t.yaml", text).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    for args in [deep.clone(), format!("{{a: {deep}}}")] {
        let text = format!("version: 1\nturns:\n  - calls:\n      - {{tool: a, args: {args}}}\n");
        let error = ScriptedModel::parse("t.yaml", &text).unwrap_err().to_string();
        assert!(error.starts_with("t.yaml:4: ") && error.len() < 200, "{error}");
    }
}

#[test]
fn only_a_regular_file_is_read() {
    let folder = std::env::temp_dir();
    let error = ScriptedModel::load(&folder).unwrap_err();
    assert!(error.to_string().ends_with("it is not a regular file"), "{error}");
    let error = ScriptedModel::load(&folder.join("no-such-script.yaml")).unwrap_err();
    assert!(error.to_string().contains("no-such-script.yaml"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = ScriptedModel::parse("t.yaml", &text);
    }

    #[test]
    fn no_change_of_a_script_panics(at in 0..TWO_ROUNDS.len(), with in "[-:{}\\[\\]&*!|>'\"#%@ \n\ta-z0-9]{0,3}") {
        let mut text: Vec<char> = TWO_ROUNDS.chars().collect();
        text.splice(at..(at + 1).min(text.len()), with.chars());
        let _ = ScriptedModel::parse("t.yaml", &text.into_iter().collect::<String>());
    }
}
