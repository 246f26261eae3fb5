//! Tests of interrupted answers: a partial call never runs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_core::RawArgs;
use toolcrib_providers::stream_preview::StreamPreview;
use toolcrib_providers::{Format, Stop, Turn, parse};

use super::support::is_broken;

const CHAT: Format = Format::OpenAiChat;

fn call(args: &str) -> Value {
    json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "save", "arguments": args}}]})
}

fn events(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// One call with these arguments, then this last chunk and `[DONE]`.
fn streamed(args: &str, last: &Value) -> Turn {
    let first = json!({"choices": [{"index": 0, "delta": call(args), "finish_reason": null}]});
    let body = events(&[first, last.clone()]) + "data: [DONE]\n\n";
    parse(CHAT, body.as_bytes()).unwrap()
}

fn end(reason: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn whole(args: &str, beside: &Value) -> Turn {
    let mut body = json!({"choices": [{"index": 0, "message": call(args)}]});
    for (key, value) in beside.as_object().unwrap() {
        match key.as_str() {
            "error" => body["error"] = value.clone(),
            key => body["choices"][0][key] = value.clone(),
        }
    }
    parse(CHAT, body.to_string().as_bytes()).unwrap()
}

fn check_failed(turn: &Turn, words: &str) {
    let Stop::Failed(said) = &turn.stop else { panic!("{turn:?}") };
    assert!(said.contains(words), "{said}");
    assert!(!turn.complete && turn.calls.iter().all(is_broken), "{turn:?}");
    assert_eq!(turn.calls.len(), 1);
}

#[test]
fn an_error_beside_choices_ran_the_call() {
    let error = json!({"code": 502, "message": "Provider disconnected"});
    let mut last = end("error".into());
    last["error"] = error.clone();
    check_failed(&streamed("{}", &last), "disconnected");
    // The same without a telling reason, and in the choice.
    let mut last = end("stop".into());
    last["error"] = error.clone();
    check_failed(&streamed("{}", &last), "disconnected");
    let mut last = end("stop".into());
    last["choices"][0]["error"] = error.clone();
    check_failed(&streamed("{}", &last), "disconnected");
    check_failed(&whole("{}", &json!({"error": error})), "disconnected");
    let in_choice = json!({"message": {"tool_calls": call("{}")["tool_calls"]}, "error": error});
    let body = json!({"choices": [in_choice]}).to_string();
    check_failed(&parse(CHAT, body.as_bytes()).unwrap(), "disconnected");
    // An error of nothing is none.
    for none in [json!(null), json!({}), json!("")] {
        let turn = whole("{}", &json!({"error": none, "finish_reason": "stop"}));
        assert!(turn.complete && !is_broken(&turn.calls[0]), "{turn:?}");
    }
}

#[test]
fn reasons_that_are_failures_ran_the_call() {
    for reason in ["error", "abort", "insufficient_system_resource"] {
        check_failed(&streamed("{}", &end(reason.into())), reason);
        check_failed(&whole("{}", &json!({"finish_reason": reason})), reason);
    }
}

#[test]
fn an_open_call_ran_after_a_reason_that_is_no_end() {
    for (reason, is_end) in [
        (json!("stop"), true),
        (json!("tool_calls"), true),
        (json!("function_call"), true),
        (json!("eos"), true),
        (json!("content_filter"), false),
        (json!("length"), false),
        (json!("something_new"), false),
        (json!(""), false),
        (json!(null), false),
    ] {
        let turn = streamed("{\"text\":\"half", &end(reason.clone()));
        // Arguments read as complete go to the repair, which asks the model if it is uncertain.
        assert_eq!(!is_broken(&turn.calls[0]), is_end, "{reason}");
        let turn = streamed("{\"text\":\"whole\"}", &end(reason.clone()));
        assert!(!is_broken(&turn.calls[0]), "{reason}");
        if reason.as_str().is_some_and(|reason| !reason.is_empty()) {
            let turn = whole("{\"text\":\"half", &json!({"finish_reason": reason}));
            assert_eq!(!is_broken(&turn.calls[0]), is_end, "{reason}");
        }
    }
}

#[test]
fn done_without_a_reason_repaired_the_last_brace() {
    for (args, runs) in [
        ("{\"path\":\"a\"", false),
        ("{\"path\":\"a", false),
        ("", false),
        ("{\"path\":\"a\"}", true),
        ("null", true),
    ] {
        let turn = streamed(args, &json!({"choices": []}));
        assert_eq!(!is_broken(&turn.calls[0]), runs, "{args}");
        assert!(turn.complete);
    }
    // Arguments received as an object are complete.
    let object = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "save", "arguments": {"a": 1}}}]});
    let body = events(&[json!({"choices": [{"delta": object}]})]) + "data: [DONE]\n\n";
    let turn = parse(CHAT, body.as_bytes()).unwrap();
    assert_eq!(turn.calls[0].args, RawArgs::Text("{\"a\":1}".into()));
    // Ollama's own interface sends `done` instead of a reason.
    let line = r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"save"}}]},"done":false}
{"message":{"role":"assistant","content":""},"done":true}"#;
    assert!(!is_broken(&parse(CHAT, line.as_bytes()).unwrap().calls[0]));
}

/// Debug builds took 22 s for the slowest of these; they are generous here because the machine may
/// be busy.
fn check_speed(format: Format, text_tools: bool, body: &str, complete: bool) {
    let begin = Instant::now();
    let mut watcher = StreamPreview::new(format, text_tools);
    for piece in body.as_bytes().chunks(1_000) {
        watcher.feed(piece, &mut |_| {});
    }
    let turn = watcher.finish().unwrap();
    assert_eq!(turn.complete, complete, "{:?}", turn.notes);
    if !complete {
        assert!(turn.calls.len() <= 256 && turn.calls.iter().all(is_broken));
        assert!(turn.notes.iter().any(|note| note.contains("more than")), "{:?}", turn.notes);
    }
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(5), "{format} {took:?}");
}

const MANY: usize = 4_000;

#[test]
fn many_calls_of_a_chat_stream_were_quadratic() {
    let chunk = |i: usize| json!({"choices": [{"delta": {"tool_calls": [{"index": i, "id": format!("c{i}"), "function": {"name": "f", "arguments": "{}"}}]}}]});
    let mut chunks: Vec<Value> = (0..MANY).map(chunk).collect();
    chunks.push(end("tool_calls".into()));
    check_speed(CHAT, false, &events(&chunks), false);
    // All in one message.
    let calls: Vec<Value> = (0..MANY)
        .map(|i| json!({"id": format!("c{i}"), "function": {"name": "f", "arguments": "{}"}}))
        .collect();
    let body = json!({"choices": [{"message": {"role": "assistant", "tool_calls": calls}}]});
    check_speed(CHAT, false, &body.to_string(), false);
}

/// Each piece repeats the name, and ends as a whole object does.
#[test]
fn pieces_that_look_whole_were_read_from_the_start_again_and_again() {
    let chunk = |args: String| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": args}}]}}]});
    let mut chunks = vec![chunk(format!("{{\"a\":[\"{}\"", "x".repeat(30_000)))];
    chunks.extend((0..MANY / 4).map(|_| chunk(",{}".to_owned())));
    chunks.push(chunk("]}".to_owned()));
    chunks.push(end("tool_calls".into()));
    check_speed(CHAT, false, &events(&chunks), true);
}

#[test]
fn many_blocks_of_an_anthropic_stream_were_quadratic() {
    let mut chunks = vec![json!({"type": "message_start", "message": {}})];
    for i in 0..MANY {
        let block = json!({"type": "tool_use", "id": format!("t{i}"), "name": "f", "input": {}});
        chunks.push(json!({"type": "content_block_start", "index": i, "content_block": block}));
    }
    chunks.push(json!({"type": "message_stop"}));
    check_speed(Format::Anthropic, false, &events(&chunks), false);
}

#[test]
fn many_items_of_a_responses_stream_were_quadratic() {
    let item = |i: usize| {
        let item = json!({"type": "function_call", "id": format!("f{i}"), "call_id": format!("c{i}"), "name": "f", "arguments": ""});
        json!({"type": "response.output_item.added", "output_index": i, "item": item})
    };
    let mut chunks: Vec<Value> = (0..MANY).map(item).collect();
    chunks.push(json!({"type": "response.completed", "response": {"status": "completed"}}));
    check_speed(Format::OpenAiResponses, false, &events(&chunks), false);
}

#[test]
fn many_calls_in_a_text_were_quadratic() {
    let said = |text: String| {
        let delta = json!({"choices": [{"delta": {"content": text}}]});
        events(&[delta, end("stop".into())])
    };
    for (one, complete) in [
        ("<tool_call>{\"name\":\"f\"}</tool_call>", false),
        ("<tool_call>{\"name\":\"f\"}</tool_call>\n", false),
        // Braces that never close.
        ("<tool_call>{\"name\":\"f\",{</tool_call>\n", false),
        ("<tool_call>{</tool_call>", true),
    ] {
        let text = one.repeat(MANY / 4);
        check_speed(CHAT, true, &said(text.clone()), complete);
        check_speed(CHAT, false, &said(text), complete);
    }
}

#[test]
fn many_ends_judged_the_text_again_and_again() {
    let chunk = |i: usize| json!({"choices": [{"delta": {"content": format!("word {i} ")}, "finish_reason": "stop"}]});
    let chunks: Vec<Value> = (0..MANY / 4).map(chunk).collect();
    check_speed(CHAT, true, &events(&chunks), true);
}

#[test]
fn a_few_hundred_calls_are_an_answer() {
    let call =
        |i: usize| json!({"id": format!("c{i}"), "function": {"name": "f", "arguments": "{}"}});
    let body = |count: usize| {
        let calls: Vec<Value> = (0..count).map(call).collect();
        json!({"choices": [{"message": {"role": "assistant", "tool_calls": calls}}]}).to_string()
    };
    assert!(parse(CHAT, body(256).as_bytes()).unwrap().complete);
    let over = parse(CHAT, body(257).as_bytes()).unwrap();
    assert!(!over.complete && over.calls.len() == 256 && over.calls.iter().all(is_broken));
}

/// `POST /exec` with 349,000 empty calls in one answer took 9 s: each was built, checked and
/// answered before the answer was refused.
#[test]
fn an_answer_of_too_many_entries_is_refused_in_every_format() {
    const COUNT: usize = 100_000;
    let many = |entry: Value| Value::Array(vec![entry; COUNT]);
    let chat = many(json!({"function": {"name": "f", "arguments": "{}"}}));
    let use_block = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
    let item = json!({"type": "function_call", "name": "f", "arguments": "{}"});
    let part = json!({"functionCall": {"name": "f", "args": {}}});
    let bodies = [
        (CHAT, json!({"choices": [{"message": {"role": "assistant", "tool_calls": chat}}]})),
        (CHAT, json!({"role": "assistant", "tool_calls": many(json!({}))})),
        // The same call again and again counts once, but the rest was never read.
        (Format::Anthropic, json!({"role": "assistant", "content": many(use_block)})),
        (Format::OpenAiResponses, json!({"output": many(item.clone())})),
        (Format::OpenAiResponses, many(item)),
        (Format::Gemini, json!({"candidates": [{"content": {"parts": many(part)}}]})),
    ];
    for (format, body) in bodies {
        let turn = parse(format, body.to_string().as_bytes()).unwrap();
        assert!(!turn.complete && turn.calls.iter().all(is_broken), "{format:?}");
        assert!(turn.calls.len() <= 256, "{format:?}: {}", turn.calls.len());
        assert!(turn.notes.iter().any(|note| note.contains("more than")), "{:?}", turn.notes);
        let replayed = turn.assistant.to_string().len();
        assert!(replayed < 200_000, "{format:?}: {replayed} bytes are repeated to the model");
    }
}
