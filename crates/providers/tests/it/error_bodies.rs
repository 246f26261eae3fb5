//! Tests of error bodies and other bodies that are not answers.

use toolcrib_providers::{Format, ParseError, detect, parse};

use super::support::{fixture, fixtures};

fn check(format: Format, body: &[u8], expected: &str) {
    let error = parse(format, body).expect_err(expected).to_string();
    assert!(error.contains(expected), "{format}: {error}");
}

#[test]
fn a_body_of_another_provider_names_it() {
    let mut checked = 0;
    for (found, file, body) in fixtures() {
        let is_answer = parse(found, &body).is_ok_and(|turn| !turn.calls.is_empty());
        if !is_answer {
            continue;
        }
        for asked in Format::ALL.into_iter().filter(|asked| *asked != found) {
            match parse(asked, &body) {
                Err(ParseError::OtherFormat { found: named, .. }) => assert_eq!(named, found),
                other => panic!("{found}/{file} as {asked}: {other:?}"),
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
    check(Format::Gemini, &fixture(Format::Anthropic, "parallel.json"), "use --format anthropic");
}

#[test]
fn what_is_no_answer_at_all() {
    for format in Format::ALL {
        check(format, b"", "empty");
        check(format, b" \n\t", "empty");
        check(format, b"\xef\xbb\xbf", "empty");
        let page = b"<html>\r\n<head><title>502 Bad Gateway</title></head></html>";
        check(format, page, "502 Bad Gateway");
        check(format, b"{\"a\": \"\xff\"}", "not UTF-8");
    }
    for format in Format::ALL.into_iter().filter(|f| *f != Format::Text) {
        check(format, b"Bad gateway", "neither JSON nor an event stream");
        check(format, b"{\"choices\": [{\"mess", "cut off");
        check(format, b"{\"hello\": 1}", "it has no");
        check(format, b"data: nonsense\n\n", "not valid JSON");
        check(format, b"[]", "it ");
    }
}

#[test]
fn errors_of_providers_keep_their_words() {
    check(Format::OpenAiChat, &fixture(Format::OpenAiChat, "error.json"), "Incorrect API key");
    check(
        Format::OpenAiResponses,
        &fixture(Format::OpenAiResponses, "failed.json"),
        "server_error",
    );
    check(Format::Anthropic, &fixture(Format::Anthropic, "error.json"), "invalid_request_error");
    check(Format::Gemini, &fixture(Format::Gemini, "error.json"), "RESOURCE_EXHAUSTED");
    check(Format::OpenAiChat, b"{\"error\":\"model not found\"}", "model not found");
    let stream = b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    check(Format::Anthropic, stream, "overloaded_error");
}

#[test]
fn bare_messages_and_items_are_answers_too() {
    for (format, body) in [
        (
            Format::OpenAiChat,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]}"#,
        ),
        (
            Format::OpenAiResponses,
            r#"[{"type":"function_call","call_id":"c","name":"t","arguments":"{}"}]"#,
        ),
        (
            Format::OpenAiResponses,
            r#"{"type":"function_call","call_id":"c","name":"t","arguments":"{}"}"#,
        ),
        (
            Format::Anthropic,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"t","input":{}}]}"#,
        ),
        (Format::Anthropic, r#"[{"type":"tool_use","id":"c","name":"t","input":{}}]"#),
        (
            Format::Gemini,
            r#"{"role":"model","parts":[{"function_call":{"id":"c","name":"t","args":{}},"thought_signature":"s"}]}"#,
        ),
    ] {
        let turn = parse(format, body.as_bytes()).unwrap_or_else(|e| panic!("{body}: {e}"));
        assert_eq!(super::support::show(&turn), ["t#c {}"], "{body}");
        assert_eq!(detect(body.as_bytes()), Some(format), "{body}");
    }
}

/// A text that ends in the middle of a call: the engine's decoder could add the last brace, so the
/// arguments must not reach it.
#[test]
fn an_open_tag_in_chat_content_is_not_run() {
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"<tool_call>{\"name\":\"write_file\",\"arguments\":{\"path\":\"a\",\"content\":\"x\""},"finish_reason":"stop"}]}"#;
    let turn = parse(Format::OpenAiChat, body.as_bytes()).unwrap();
    assert_eq!(super::support::show(&turn), ["write_file#call_1 BROKEN"]);
}
