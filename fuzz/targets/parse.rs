//! `providers::parse` and `result_messages`, every format: no call of an unfinished answer can run,
//! and every call gets one result.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolcrib_core::RawArgs;
use toolcrib_providers::{Format, ParseError, Turn, detect, parse, result_messages};

const FORMATS: [Format; 5] =
    [Format::OpenAiChat, Format::OpenAiResponses, Format::Anthropic, Format::Gemini, Format::Text];

fuzz_target!(|body: &[u8]| {
    let found = detect(body);
    for format in FORMATS {
        match parse(format, body) {
            Ok(turn) => judge(format, &turn),
            Err(error) => judge_error(format, found, &error),
        }
    }
});

fn judge(format: Format, turn: &Turn) {
    assert_eq!(turn.format, format);
    let runnable = turn.calls.iter().filter(|call| !matches!(call.args, RawArgs::Broken(_)));
    let mut ids = HashSet::new();
    for call in runnable {
        assert!(turn.complete, "an unfinished answer has a call that can run: {call:?}");
        let Some(id) = &call.provider_id else { continue };
        assert!(ids.insert(id), "two calls with the id {id} can run");
    }
    // What is replayed is what the provider can read.
    let text = serde_json::to_string(&turn.assistant).expect("JSON");
    let again: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(again, turn.assistant);
    // Without outcomes every call is answered as not run, once.
    let messages = result_messages(turn, &[]);
    assert_eq!(messages.is_empty(), turn.calls.is_empty());
    if let Some(count) = results(format, &messages) {
        assert_eq!(count, turn.calls.len(), "{messages:?}");
    }
}

/// Results in a follow-up, counted as the provider counts them; `None` = the format has no such
/// places.
fn results(format: Format, messages: &[Value]) -> Option<usize> {
    let inner =
        |name: &'static str| messages.iter().filter_map(move |m| m[name].as_array()).flatten();
    match format {
        Format::OpenAiChat => {
            let is_result = |m: &&Value| m["role"] == "tool" || m["role"] == "function";
            Some(messages.iter().filter(is_result).count())
        }
        Format::OpenAiResponses => {
            let kind = |item: &Value| item["type"].as_str().unwrap_or_default().to_owned();
            Some(messages.iter().filter(|item| kind(item).ends_with("_output")).count())
        }
        Format::Anthropic => Some(inner("content").filter(|b| b["type"] == "tool_result").count()),
        Format::Gemini => {
            Some(inner("parts").filter(|p| p["functionResponse"].is_object()).count())
        }
        Format::Text => None,
    }
}

fn judge_error(format: Format, found: Option<Format>, error: &ParseError) {
    assert!(!error.to_string().is_empty());
    if let ParseError::OtherFormat { asked, found: other } = error {
        assert_eq!(*asked, format);
        assert_eq!(Some(*other), found, "the hint differs from what is detected");
    }
}
