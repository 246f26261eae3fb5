//! Tests of stream ends, complete and incomplete, and of the hint that an answer is complete.

use serde_json::{Value, json};
use toolcrib_core::RawArgs;

use super::*;
use crate::model_turn::Stop;

const CHAT: Format = Format::OpenAiChat;

fn delta(delta: Value, finish: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn call() -> Value {
    let function = json!({"name": "f", "arguments": "{}"});
    json!({"tool_calls": [{"index": 0, "id": "a", "function": function}]})
}

fn check(body: &str, complete: bool, hint: bool, stop: Stop) {
    let (_, watcher) = watch(CHAT, false, [body.as_bytes()]);
    assert_eq!(watcher.is_complete_hint(), hint, "{body}");
    let turn = watcher.finish().unwrap_or_else(|e| panic!("{e}: {body}"));
    assert_eq!((turn.complete, turn.stop), (complete, stop), "{body}");
    let runs = turn.calls.iter().all(|call| matches!(call.args, RawArgs::Text(_)));
    assert_eq!(runs, complete, "{body}");
}

#[test]
fn ends_of_a_chat_stream() {
    let open = events(&[delta(call(), Value::Null)]);
    let done = "data: [DONE]\n\n";
    let finished = |reason: &str| open.clone() + &events(&[delta(json!({}), reason.into())]);
    check(&(finished("tool_calls") + done), true, true, Stop::Calls);
    // No [DONE], but a reason.
    check(&finished("stop"), true, false, Stop::Calls);
    // An empty reason does not count: only [DONE] ends the stream then.
    check(&(finished("") + done), true, true, Stop::Calls);
    check(&finished(""), false, false, Stop::Calls);
    check(&open, false, false, Stop::Calls);
    let error = json!({"error": {"message": "overloaded", "type": "server_error"}});
    check(
        &(finished("tool_calls") + &events(&[error])),
        false,
        false,
        Stop::Failed("overloaded".into()),
    );
}

#[test]
fn last_words_of_the_other_formats() {
    for (format, body) in [
        (Format::Anthropic, json!({"type": "message_stop"})),
        (Format::Anthropic, json!({"type": "error", "error": {"type": "overloaded_error"}})),
        (Format::OpenAiResponses, json!({"type": "response.completed", "response": {}})),
        (Format::OpenAiResponses, json!({"type": "response.failed", "response": {}})),
    ] {
        let stream = events(std::slice::from_ref(&body));
        assert!(watch(format, false, [stream.as_bytes()]).1.is_complete_hint(), "{body}");
    }
    for (format, body) in [
        (CHAT, json!({"choices": [{"message": {"role": "assistant", "content": "x"}}]})),
        (CHAT, json!({"message": {"role": "assistant", "content": "x"}, "done": true})),
        (
            Format::Anthropic,
            json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]}),
        ),
        (
            Format::OpenAiResponses,
            json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}]}),
        ),
    ] {
        let text = body.to_string();
        let (seen, watcher) = watch(format, false, [text.as_bytes()]);
        assert!(watcher.is_complete_hint(), "{body}");
        assert_eq!(seen.text, "x", "{body}");
        let cut = &text.as_bytes()[..text.len() - 1];
        assert!(!watch(format, false, [cut]).1.is_complete_hint(), "{body}");
    }
}

/// Several calls are distinguished during the stream: by index, by id under one index, and as whole
/// calls without either.
#[test]
fn calls_are_shown_apart() {
    let part = |index: Value, id: &str, name: &str, args: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": args}});
    let stream = |parts: Vec<Value>| {
        let chunks: Vec<Value> =
            parts.into_iter().map(|p| delta(json!({"tool_calls": [p]}), Value::Null)).collect();
        whole(CHAT, false, &events(&chunks)).0.calls
    };
    let expected =
        vec![("f".to_owned(), "{\"a\":1}".to_owned()), ("g".to_owned(), "{}".to_owned())];
    let interleaved = vec![
        part(0.into(), "a", "f", ""),
        part(1.into(), "b", "g", "{"),
        part(0.into(), "", "", "{\"a\":1}"),
        part(1.into(), "", "", "}"),
    ];
    assert_eq!(stream(interleaved), expected);
    let one_index = vec![
        part(0.into(), "a", "f", "{\"a\""),
        part(0.into(), "", "", ":1}"),
        part(0.into(), "b", "g", "{}"),
    ];
    assert_eq!(stream(one_index), expected);
    let neither = vec![part(Value::Null, "", "f", "{\"a\":1}"), part(Value::Null, "", "g", "{}")];
    assert_eq!(stream(neither), expected);
}

#[test]
fn an_answer_that_is_too_large_is_refused_and_not_kept() {
    let mut watcher = StreamPreview { limit: 5_000, ..StreamPreview::new(CHAT, false) };
    let line = events(&[delta(json!({"content": "x".repeat(1_000)}), Value::Null)]);
    let mut shown = 0;
    for _ in 0..10 {
        watcher.feed(line.as_bytes(), &mut |_| shown += 1);
    }
    assert!(watcher.is_full() && watcher.bytes().is_empty());
    assert_eq!(shown, 5_000 / line.len(), "what came before was shown");
    let error = watcher.finish().unwrap_err().to_string();
    assert!(error.contains("larger than 32 MB"), "{error}");
}

/// A model without native tools may still call natively; a call with cut arguments must not run
/// without arguments.
#[test]
fn native_calls_of_a_text_model_are_kept() {
    let body = |args: &str, finish: &str| {
        let function = json!({"name": "f", "arguments": args});
        json!({"choices": [{"finish_reason": finish, "message": {
            "role": "assistant", "content": "So.", "tool_calls": [{"id": "a", "function": function}],
        }}]})
        .to_string()
    };
    let turn = whole(CHAT, true, &body("{\"a\":1}", "stop")).1.unwrap();
    assert_eq!(turn.format, Format::Text);
    assert_eq!(turn.calls[0].args, RawArgs::Text("{\"a\":1}".into()));
    assert_eq!((turn.text.as_str(), turn.stop), ("So.", Stop::Calls));
    let words = turn.assistant["content"].as_str().unwrap();
    assert_eq!(words, "So.\n<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n</tool_call>");
    let turn = whole(CHAT, true, &body("{\"a\":", "length")).1.unwrap();
    assert!(matches!(turn.calls[0].args, RawArgs::Broken(_)), "{:?}", turn.calls);
    assert_eq!(turn.stop, Stop::Length);
}

#[test]
fn a_cut_stream_of_a_text_model_runs_nothing() {
    let text = "<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>";
    let turn =
        whole(CHAT, true, &events(&[delta(json!({"content": text}), Value::Null)])).1.unwrap();
    assert!(!turn.complete);
    assert!(matches!(turn.calls[0].args, RawArgs::Broken(_)));
    let error = whole(CHAT, true, "{\"error\":{\"message\":\"no tools\",\"type\":\"x\"}}").1;
    assert!(matches!(error, Err(ParseError::Provider { .. })), "{error:?}");
    assert_eq!(whole(CHAT, true, "").1, Err(ParseError::Empty));
}
