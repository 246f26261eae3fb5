//! Tests of truncated recordings: a partial call never runs, wherever the recording is cut.

use toolcrib_core::RawArgs;
use toolcrib_providers::{Format, ModelCall, parse, result_messages};

use super::support::{fixtures, is_broken};

fn runnable(calls: &[ModelCall]) -> Vec<(&str, &RawArgs)> {
    calls.iter().filter(|c| !is_broken(c)).map(|c| (c.name.as_str(), &c.args)).collect()
}

/// The streams are cut at every byte, the variations of them and the whole bodies at every seventh.
fn step(file: &str) -> usize {
    match file {
        "stream.sse" | "stream_array.json" | "ollama.ndjson" | "tags.txt" => 1,
        _ => 7,
    }
}

fn check(format: Format, file: &str, body: &[u8]) {
    let whole = parse(format, body).ok();
    let allowed = whole.as_ref().map(|turn| runnable(&turn.calls)).unwrap_or_default();
    for end in (0..body.len()).step_by(step(file)) {
        let Ok(turn) = parse(format, &body[..end]) else { continue };
        let at = format!("{format}/{file} cut at {end}");
        if !turn.complete {
            assert!(turn.calls.iter().all(is_broken), "{at}: an incomplete answer runs nothing");
        }
        for call in runnable(&turn.calls) {
            assert!(allowed.contains(&call), "{at}: {call:?}");
        }
        assert_eq!(result_messages(&turn, &[]).is_empty(), turn.calls.is_empty(), "{at}");
    }
}

#[test]
fn no_partial_call_is_runnable() {
    let all = fixtures();
    assert!(all.len() > 40, "the fixtures are there");
    for (format, file, body) in all {
        check(format, &file, &body);
    }
}

/// A stream whose last event was cut off runs nothing, although all its calls were complete.
#[test]
fn a_stream_without_its_end_runs_nothing() {
    for (format, file, end) in [
        (Format::OpenAiChat, "stream.sse", "\"finish_reason\":\"tool_calls\""),
        (Format::OpenAiResponses, "stream.sse", "event: response.completed"),
        (Format::Anthropic, "stream.sse", "event: message_stop"),
        (Format::Gemini, "stream.sse", "\"finishReason\""),
    ] {
        let body = super::support::fixture(format, file);
        let text = String::from_utf8(body).unwrap();
        let at = text.find(end).unwrap();
        let turn = parse(format, &text.as_bytes()[..at]).unwrap();
        assert!(!turn.complete, "{format}");
        assert_eq!(turn.calls.len(), if format == Format::Anthropic { 3 } else { 2 }, "{format}");
        for call in &turn.calls {
            let RawArgs::Broken(text) = &call.args else { panic!("{format}: {call:?}") };
            assert!(text.contains("not run") && text.contains("Send the call again"), "{text}");
        }
        assert!(!turn.notes.is_empty());
    }
}

/// A stream of lines that is cut after the first one is a complete JSON text.
#[test]
fn lines_cut_after_the_first_one_run_nothing() {
    let line = r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}"#;
    let turn = parse(Format::OpenAiChat, line.as_bytes()).unwrap();
    assert!(!turn.complete && turn.calls.iter().all(is_broken), "{turn:?}");
    let whole = line.replace("false", "true");
    assert!(parse(Format::OpenAiChat, whole.as_bytes()).unwrap().complete);
}
