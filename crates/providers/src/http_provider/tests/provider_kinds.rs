//! Tests of every kind of provider, streamed and not: request URL, request content, and parsed
//! answer.

use serde_json::json;

use super::*;
use crate::model_turn::Stop;

/// The answer "hello" of each kind, whole and streamed.
fn answers(kind: ProviderKind) -> (String, String) {
    match kind {
        ProviderKind::OpenAiChat | ProviderKind::DeepSeek | ProviderKind::OpenAiCompatible => {
            let whole = json!({"id": "c", "object": "chat.completion", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
            ]});
            (whole.to_string(), sse(&["hel", "lo"]) + SSE_END)
        }
        ProviderKind::OpenAiResponses => {
            let item = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "hello", "annotations": []}]});
            let whole =
                json!({"id": "r", "object": "response", "status": "completed", "output": [item]});
            let mut stream = String::new();
            for event in [
                json!({"type": "response.created", "response": {"id": "r"}}),
                json!({"type": "response.output_item.added", "output_index": 0,
                    "item": {"type": "message", "id": "m", "role": "assistant", "content": []}}),
                json!({"type": "response.output_text.delta", "item_id": "m", "output_index": 0,
                    "content_index": 0, "delta": "hello"}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                json!({"type": "response.completed", "response": whole}),
            ] {
                stream += &format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
            }
            (whole.to_string(), stream)
        }
        ProviderKind::Anthropic => {
            let whole = json!({"id": "m", "type": "message", "role": "assistant",
                "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn"});
            let mut stream = String::new();
            for event in [
                json!({"type": "message_start", "message": {"id": "m", "type": "message",
                    "role": "assistant", "content": []}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "ping"}),
                json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": "hello"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                json!({"type": "message_stop"}),
            ] {
                stream += &format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
            }
            (whole.to_string(), stream)
        }
        ProviderKind::Gemini => {
            let part =
                |text: &str| json!([{"content": {"role": "model", "parts": [{"text": text}]}}]);
            let whole = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]},
                "finishReason": "STOP"}]});
            let first = json!({"candidates": part("hel")});
            let last = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "lo"}]},
                "finishReason": "STOP"}]});
            (whole.to_string(), format!("data: {first}\n\ndata: {last}\n\n"))
        }
        ProviderKind::Ollama => {
            let line = |text: &str, done: bool| json!({"model": "m-1", "message": {"role": "assistant", "content": text}, "done": done});
            let mut whole = line("hello", true);
            whole["done_reason"] = "stop".into();
            let mut last = line("", true);
            last["done_reason"] = "stop".into();
            let stream = format!("{}\n{}\n{last}\n", line("hel", false), line("lo", false));
            (whole.to_string(), stream)
        }
    }
}

async fn check(kind: ProviderKind, stream: bool, target: &str, headers: &[(&str, &str)]) {
    let (whole, streamed) = answers(kind);
    let server = Server::start([Answer::new(200, if stream { streamed } else { whole })]).await;
    let model = model(settings(&server, kind).0);
    let (reply, deltas) = ask(&model, stream).await;
    let reply = reply.unwrap_or_else(|error| panic!("{kind} {stream}: {error}"));
    assert_eq!(reply.turn.text, "hello", "{kind}");
    assert_eq!(reply.turn.stop, Stop::End, "{kind}");
    assert_eq!(reply.attempts, 1);
    assert_eq!(text_of(&deltas), "hello", "{kind} {stream}");

    let seen = &server.seen()[0];
    assert_eq!(seen.target(), format!("POST {target}"));
    let always = [("content-type", "application/json"), ("accept-encoding", "identity")];
    for (name, value) in headers.iter().chain(&always) {
        assert_eq!(seen.header(name), Some(*value), "{kind} {name}");
    }
    assert_eq!(seen.head.matches(KEY).count(), 1, "{kind}: the key stands in one header");
    let body = seen.json();
    if kind == ProviderKind::Gemini {
        assert_eq!(body["contents"][0]["parts"][0]["text"], "hello", "{body}");
    } else {
        assert_eq!(body["model"], "m-1", "{body}");
        assert_eq!(
            body.get("stream").and_then(serde_json::Value::as_bool).unwrap_or(false),
            stream
        );
    }
}

#[tokio::test]
async fn every_kind_streamed_and_not() {
    use ProviderKind::*;
    let bearer = format!("Bearer {KEY}");
    let bearer = ("authorization", bearer.as_str());
    for stream in [false, true] {
        let accept = ("accept", if stream { "text/event-stream" } else { "application/json" });
        check(OpenAiChat, stream, "/v1/chat/completions", &[bearer, accept]).await;
        check(OpenAiCompatible, stream, "/v1/chat/completions", &[bearer, accept]).await;
        check(OpenAiResponses, stream, "/v1/responses", &[bearer, accept]).await;
        check(DeepSeek, stream, "/chat/completions", &[bearer, accept]).await;
        let version = ("anthropic-version", "2023-06-01");
        check(Anthropic, stream, "/v1/messages", &[("x-api-key", KEY), version, accept]).await;
        let target = if stream {
            "/v1beta/models/m-1:streamGenerateContent?alt=sse"
        } else {
            "/v1beta/models/m-1:generateContent"
        };
        check(Gemini, stream, target, &[("x-goog-api-key", KEY), accept]).await;
        let lines = if stream { ("accept", "application/x-ndjson") } else { accept };
        check(Ollama, stream, "/api/chat", &[bearer, lines]).await;
    }
}

#[tokio::test]
async fn without_a_key_none_is_sent_and_own_headers_win() {
    let server = Server::start([good()]).await;
    let (mut settings, _) = settings(&server, ProviderKind::OpenAiCompatible);
    settings.key = None;
    settings.headers = vec![
        ("X-Title".to_owned(), "toolcrib".to_owned()),
        ("Content-Type".to_owned(), "application/json; charset=utf-8".to_owned()),
    ];
    ask(&model(settings), true).await.0.expect("an answer");
    let seen = &server.seen()[0];
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.header("x-title"), Some("toolcrib"));
    assert_eq!(seen.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(seen.head.to_ascii_lowercase().matches("content-type").count(), 1);
}

#[tokio::test]
async fn ollama_was_asked_for_another_window_than_was_counted() {
    let (whole, _) = answers(ProviderKind::Ollama);
    let server = Server::start([Answer::new(200, whole)]).await;
    let own = json!({"num_ctx": 8192});
    let added = json!({"extra": {"options": {"num_ctx": 2048}}});
    for (quirks, configured, sent) in [
        (json!({}), None, Some(16_384)),
        (json!({}), Some(40_000), Some(40_000)),
        (own.clone(), None, Some(8_192)),
        (own, Some(40_000), Some(40_000)),
        (added, Some(40_000), Some(2_048)),
        (json!({"num_ctx": null}), Some(40_000), None),
    ] {
        let (mut settings, _) = settings(&server, ProviderKind::Ollama);
        settings.quirks = quirks.as_object().cloned().expect("quirks");
        let endpoint = Endpoint::new(settings).expect("settings");
        let options = ModelOptions { window: configured, ..ModelOptions::default() };
        let model = endpoint.model("m-1", options);
        ask(&model, false).await.0.expect("an answer");
        let seen = server.seen().pop().expect("a request").json();
        assert_eq!(seen["options"]["num_ctx"].as_u64(), sent, "{quirks}");
        assert_eq!(model.info().requested_window, sent, "{quirks}");
    }
}

#[tokio::test]
async fn one_connection_carries_a_whole_conversation() {
    let server = Server::start([good(), failing(429, "slow down"), good()]).await;
    let (model, _) = chat(&server);
    for _ in 0..3 {
        ask(&model, true).await.0.expect("an answer");
    }
    assert_eq!(server.seen().len(), 4);
    assert_eq!(server.connections(), 1);
}
