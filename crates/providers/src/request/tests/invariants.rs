//! Property tests of request bodies: each call has exactly one result directly after it, and the
//! body contains nothing that the provider rejects.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;
use toolcrib_core::Blob;

use super::*;
use crate::call_collector::text_field;
use crate::model_turn::Stop;
use crate::quirks::Server;
use crate::wire_names::is_valid;

/// A turn as a provider sends it.
#[derive(Debug, Clone)]
struct Said {
    format: Format,
    native: bool,
    text: String,
    calls: Vec<(String, String, String)>,
}

fn any_said() -> impl Strategy<Value = Said> {
    let id = prop::sample::select(vec!["", "a", "b", "call_1", "toolu_9", "c00001000"]);
    let name = prop::sample::select(vec!["look", "files__read_all", "no such tool", "", "x.y"]);
    let args = prop::sample::select(vec!["{}", "", "{\"a\":1}", "[1]", "{oops", "null", "\"x\""]);
    let call = (id, name, args).prop_map(|(i, n, a)| (i.to_owned(), n.to_owned(), a.to_owned()));
    let text = prop::sample::select(vec!["", "Hm.", " \n", "a\nb "]);
    (
        prop::sample::select(Format::ALL.to_vec()),
        any::<bool>(),
        text,
        prop::collection::vec(call, 0..4),
    )
        .prop_map(|(format, native, text, calls)| Said {
            format,
            native,
            text: text.to_owned(),
            calls,
        })
}

/// Arguments for formats in which a provider sends a value.
fn value(args: &str) -> Value {
    serde_json::from_str(args).unwrap_or(json!({}))
}

fn recorded(said: &Said) -> Turn {
    let Said { format, native, text, calls } = said;
    let calls = calls.iter();
    let body = match format {
        Format::OpenAiChat if *native => {
            let calls: Vec<Value> = calls
                .map(|(_, n, a)| json!({"function": {"name": n, "arguments": value(a)}}))
                .collect();
            json!({"message": {"role": "assistant", "content": text, "tool_calls": calls}, "done": true})
        }
        Format::OpenAiChat => {
            let calls: Vec<Value> = calls
                .map(|(i, n, a)| json!({"id": i, "type": "function", "function": {"name": n, "arguments": a}}))
                .collect();
            let message = json!({"role": "assistant", "content": text, "reasoning_content": "r", "tool_calls": calls});
            json!({"choices": [{"message": message, "finish_reason": "stop"}]})
        }
        Format::OpenAiResponses => {
            let message = json!({"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": text}]});
            let calls = calls
                .map(|(i, n, a)| json!({"type": "function_call", "id": "fc", "call_id": i, "name": n, "arguments": a}));
            let reasoning = json!({"type": "reasoning", "id": "rs", "summary": []});
            let output: Vec<Value> = [reasoning, message].into_iter().chain(calls).collect();
            json!({"object": "response", "status": "completed", "output": output})
        }
        Format::Anthropic => {
            let calls = calls.map(
                |(i, n, a)| json!({"type": "tool_use", "id": i, "name": n, "input": value(a)}),
            );
            let said = json!({"type": "text", "text": text});
            let content: Vec<Value> = [said].into_iter().chain(calls).collect();
            json!({"type": "message", "role": "assistant", "content": content})
        }
        Format::Gemini => {
            let calls = calls.map(|(i, n, a)| {
                let mut call = json!({"name": n, "args": value(a)});
                if !i.is_empty() {
                    call["id"] = i.as_str().into();
                }
                json!({"functionCall": call})
            });
            let parts: Vec<Value> = [json!({"text": text})].into_iter().chain(calls).collect();
            json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]})
        }
        Format::Text => {
            let calls: Vec<String> = calls
                .map(|(_, n, a)| {
                    let call = json!({"name": n, "arguments": value(a)});
                    format!("\n<tool_call>\n{call}\n</tool_call>")
                })
                .collect();
            let text = if text.trim().is_empty() { "So." } else { text };
            json!(format!("{text}{}", calls.concat()))
        }
    };
    turn(*format, &body)
}

fn any_message() -> impl Strategy<Value = Message> {
    let image = prop::sample::select(vec![
        None,
        Some(png()),
        Some(Blob { media_type: "text/plain".into(), data: vec![1] }),
    ]);
    let text = prop::sample::select(vec!["", "Hello.", " "]);
    let user = (text, image).prop_map(|(text, image)| user_with(text, image.into_iter().collect()));
    let provider = prop::sample::select(vec!["here", "elsewhere"]);
    let model =
        (any_said(), provider, 0usize..5, 0u8..8).prop_map(|(said, provider, answered, state)| {
            let mut turn = recorded(&said);
            turn.complete = state != 0;
            if state == 1 {
                turn.stop = Stop::Paused;
            }
            let answers = (0..answered.min(turn.calls.len())).map(|at| {
                if at == 1 {
                    failure("look")
                } else {
                    success("look", "<ok>", vec![Block::Image(png())])
                }
            });
            super::model(turn, provider, answers.collect())
        });
    prop_oneof![2 => user, 3 => model]
}

/// The texts of a member, in order.
fn texts<'v>(items: impl IntoIterator<Item = &'v Value>, key: &str) -> Vec<&'v str> {
    items.into_iter().map(|item| item[key].as_str().unwrap_or("MISSING")).collect()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_one_each(ids: &[&str]) -> bool {
    ids.iter().all(|id| !id.is_empty()) && ids.iter().collect::<HashSet<_>>().len() == ids.len()
}

fn check_chat(body: &Value, ollama: bool) {
    let mut messages = list(body, "messages").iter().peekable();
    while let Some(message) = messages.next() {
        assert_ne!(message["role"], "tool", "a result without its call");
        let calls = list(message, "tool_calls");
        let content = &message["content"];
        let shows = content.is_array() || message.get("images").is_some();
        assert!(
            !calls.is_empty() || shows || content.as_str().is_some_and(|c| !c.is_empty()),
            "{message}"
        );
        for call in calls {
            assert!(is_valid(Format::OpenAiChat, call["function"]["name"].as_str().unwrap()));
            let args = &call["function"]["arguments"];
            match args.as_str() {
                Some(text) => {
                    assert!(!ollama && serde_json::from_str::<Value>(text).is_ok(), "{text}");
                }
                None => assert!(ollama && args.is_object(), "{args}"),
            }
            let result = messages.next().unwrap_or_else(|| panic!("no result: {call}"));
            assert_eq!(result["role"], "tool");
            assert!(result["content"].is_string());
            if ollama {
                assert_eq!(result["tool_name"], call["function"]["name"]);
            } else {
                assert_eq!(result["tool_call_id"], call["id"]);
            }
        }
        assert!(ollama || is_one_each(&texts(calls, "id")), "{message}");
        assert!(!ollama || content.is_string(), "{message}");
    }
}

fn check_responses(body: &Value) {
    let mut open: Vec<&str> = Vec::new();
    let mut answered = 0;
    for item in list(body, "input") {
        match text_field(item, "type").unwrap_or_default() {
            "function_call" => {
                assert_eq!(answered, 0, "a call between results");
                open.push(item["call_id"].as_str().unwrap());
                assert!(is_valid(Format::OpenAiResponses, item["name"].as_str().unwrap()));
                let args = item["arguments"].as_str().unwrap();
                assert!(serde_json::from_str::<Value>(args).is_ok(), "{args}");
            }
            "function_call_output" => {
                assert_eq!(open.get(answered), Some(&item["call_id"].as_str().unwrap()));
                answered += 1;
            }
            kind => {
                assert!(kind == "message", "{item}");
                assert_eq!(open.len(), answered, "a message between a call and its result");
            }
        }
        if answered == open.len() {
            assert!(is_one_each(&open), "{open:?}");
            open.clear();
            answered = 0;
        }
    }
    assert_eq!(open.len(), answered, "calls without results");
}

fn check_anthropic(body: &Value) {
    assert!(body["max_tokens"].is_u64());
    let mut expected: Vec<&str> = Vec::new();
    let mut all: HashSet<&str> = HashSet::new();
    for (i, message) in list(body, "messages").iter().enumerate() {
        let role = if i % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "roles alternate");
        let blocks = list(message, "content");
        assert!(!blocks.is_empty());
        let is = |kind: &'static str| move |block: &&Value| block["type"] == kind;
        for text in blocks.iter().filter(is("text")) {
            assert!(!text["text"].as_str().unwrap().trim().is_empty(), "{message}");
        }
        let results: Vec<&str> = texts(blocks.iter().take_while(is("tool_result")), "tool_use_id");
        assert_eq!(blocks.iter().filter(is("tool_result")).count(), results.len(), "first");
        assert_eq!(results, expected, "{body}");
        let calls: Vec<&Value> = blocks.iter().filter(is("tool_use")).collect();
        expected = texts(calls.iter().copied(), "id");
        for call in calls {
            assert!(call["input"].is_object());
            assert!(is_valid(Format::Anthropic, call["name"].as_str().unwrap()));
            assert!(all.insert(call["id"].as_str().unwrap()), "no id twice in a request");
        }
    }
    assert!(expected.is_empty(), "calls without results");
    assert_eq!(all.is_empty(), body.get("tools").is_none());
}

fn check_gemini(body: &Value) {
    let contents = list(body, "contents");
    assert!(contents.first().is_none_or(|first| first["role"] == "user"));
    let mut expected: Vec<(&Value, Option<&Value>)> = Vec::new();
    for content in contents {
        let parts = list(content, "parts");
        assert!(!parts.is_empty());
        let of = |key: &'static str| {
            parts.iter().filter_map(move |part| part.get(key)).map(|c| (&c["name"], c.get("id")))
        };
        assert_eq!(of("functionResponse").collect::<Vec<_>>(), expected, "{content}");
        expected = of("functionCall").collect();
        for call in parts.iter().filter_map(|part| part.get("functionCall")) {
            assert!(call["args"].is_object(), "{call}");
            assert!(is_valid(Format::Gemini, call["name"].as_str().unwrap()));
        }
    }
    assert!(expected.is_empty(), "calls without results");
}

fn check(dialect: &Dialect, body: &Value) {
    match dialect.format {
        Format::OpenAiResponses => check_responses(body),
        Format::Anthropic => check_anthropic(body),
        Format::Gemini => check_gemini(body),
        _ => check_chat(body, dialect.quirks.ollama),
    }
    if dialect.text_tools {
        let text = body.to_string();
        for sign in ["tool_calls", "tool_use", "function_call", "functionCall"] {
            assert!(!text.contains(&format!("\"{sign}\"")), "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    #[test]
    fn each_call_has_exactly_one_result(messages in prop::collection::vec(any_message(), 0..7)) {
        let asked = request(messages);
        for server in Server::ALL {
            for text_tools in [false, true] {
                let dialect = Dialect { text_tools, ..Dialect::new(server) };
                check(&dialect, &body(&dialect, &asked));
            }
        }
    }
}

/// Regression, found by the property above: a provider's own id equalled the generated id of a
/// rebuilt call.
#[test]
fn a_made_id_never_meets_a_given_one() {
    let call = |id: &str| ("look".to_owned(), id.to_owned());
    let said = |format, (name, id): (String, String)| {
        recorded(&Said {
            format,
            native: false,
            text: String::new(),
            calls: vec![(id, name, "{}".into())],
        })
    };
    let asked = request(vec![
        super::model(said(Format::Anthropic, call("c00001000")), "here", vec![]),
        super::model(said(Format::Gemini, call("a")), "elsewhere", vec![]),
    ]);
    let got = body(&Dialect::new(Server::Anthropic), &asked);
    check_anthropic(&got);
    assert_eq!(got["messages"][3]["content"][0]["id"], "d00001000");
}

/// The property above is meaningful only if its conversations contain both kinds of turns.
#[test]
fn the_conversations_hold_own_and_foreign_turns() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut own, mut calls) = (0, 0);
    for _ in 0..300 {
        let message = any_message().new_tree(&mut runner).unwrap().current();
        let Message::Model(model) = &message else { continue };
        calls += usize::from(!model.turn.calls.is_empty());
        let is_own = Server::ALL.into_iter().any(|server| {
            let dialect = Dialect::new(server);
            super::super::is_own(&info(dialect.format), &dialect, &message)
        });
        own += usize::from(is_own && !model.turn.calls.is_empty());
    }
    assert!(own > 10 && calls > 4 * own / 2, "{own} of {calls}");
}
