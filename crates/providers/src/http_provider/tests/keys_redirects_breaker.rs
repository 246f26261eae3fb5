//! Tests of keys, redirects, the circuit breaker, models without tools, and lists of models.

use std::collections::HashSet;

use serde_json::json;

use super::*;
use crate::http_provider::{NoToolsMemory, SettingsError};
use crate::model::FailureKind;
use crate::tool_declarations::Declarations;
use crate::wire_format::Format;
use crate::wire_names::NameMap;

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([good()]).await;
    let target = format!("{}/v1/x?token=secret", elsewhere.url());
    for status in [301, 302, 303, 307, 308] {
        let server = Server::start([Answer::new(status, "").header("Location", &target)]).await;
        let (model, _) = chat(&server);
        let error = ask(&model, true).await.0.expect_err("no answer");
        assert_eq!(
            (error.kind, error.status, error.attempts),
            (FailureKind::BadRequest, Some(status), 1)
        );
        assert!(error.message.contains(&format!("{}/v1/x", elsewhere.url())), "{error}");
        assert!(!error.message.contains("token"), "{error}");
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_redirect_target_showed_the_key() {
    let target = format!("https://elsewhere.example/{KEY}/v1");
    let server = Server::start([Answer::new(307, "").header("Location", &target)]).await;
    // `ask` searches the error for the key.
    let error = ask(&chat(&server).0, true).await.0.expect_err("no answer");
    assert!(error.message.contains("https://elsewhere.example/"), "{error}");
}

#[tokio::test]
async fn strict_mode_never_reached_the_declarations() {
    let server = Server::start([]).await;
    let options = |kind, base: &str, quirks: serde_json::Value| {
        let (mut settings, _) = settings(&server, kind);
        settings.base_url = Some(format!("{}{base}", server.url()));
        settings.quirks = quirks.as_object().cloned().expect("object");
        let options = model(settings).tool_options();
        (options.strict, options.rules)
    };
    use ProviderKind::*;
    let deepseek = Some(crate::schema::Strict::DeepSeek);
    assert_eq!(options(OpenAiChat, "/v1", json!({})), (false, None));
    assert_eq!(options(Anthropic, "", json!({})), (false, None));
    assert_eq!(options(OpenAiResponses, "/v1", json!({"strict": true})), (true, None));
    assert_eq!(options(DeepSeek, "", json!({})), (false, deepseek));
    assert_eq!(options(DeepSeek, "/beta", json!({})), (true, deepseek));
    assert_eq!(options(DeepSeek, "/beta", json!({"strict": false})), (false, deepseek));
    assert_eq!(options(OpenAiCompatible, "/beta", json!({})), (false, None));
}

#[tokio::test]
async fn a_key_is_shown_nowhere() {
    let echo = format!("Incorrect API key provided: {KEY}.");
    let body = json!({"error": {"message": echo, "type": "invalid_request_error"}}).to_string();
    let server = Server::start([Answer::new(401, body.clone())]).await;
    let (settings, _) = settings(&server, ProviderKind::OpenAiChat);
    assert!(!format!("{settings:?}").contains("0123456789"));
    let endpoint = Endpoint::new(settings).expect("settings");
    assert!(!format!("{endpoint:?}").contains("0123456789"));
    let model = endpoint.model("m-1", ModelOptions::default());
    // `ask` searches the error and the model for the key.
    let error = ask(&model, true).await.0.expect_err("no answer");
    assert_eq!(error.kind, FailureKind::BadKey);
    assert!(error.message.contains("…cdef"), "{error}");
    // In the middle of a stream, and in a retry.
    let stream = format!("{}data: {body}\n\n", sse(&["a"]));
    server.now([Answer::new(200, stream), Answer::new(500, echo)]);
    let (reply, deltas) = ask(&model, true).await;
    assert!(reply.is_err());
    assert!(!format!("{deltas:?}").contains("0123456789"), "{deltas:?}");
    server.now([Answer::new(401, body)]);
    let error = endpoint.models().await.expect_err("no list");
    assert!(!format!("{error:?} {error}").contains("0123456789"), "{error}");
}

#[tokio::test]
async fn an_endpoint_needs_what_it_needs() {
    let settings = |kind| ProviderSettings::new("mine", kind);
    let error = Endpoint::new(settings(ProviderKind::Anthropic)).expect_err("no key");
    assert!(error.to_string().contains("ANTHROPIC_API_KEY"), "{error}");
    assert!(matches!(
        Endpoint::new(settings(ProviderKind::OpenAiCompatible)).expect_err("no URL"),
        SettingsError::NoBaseUrl { .. }
    ));
    Endpoint::new(settings(ProviderKind::Ollama)).expect("needs nothing");
    for (name, value) in [("Host", "x"), ("a b", "x"), ("x-token", "secret\nvalue")] {
        let mut own = settings(ProviderKind::Ollama);
        own.headers = vec![(name.to_owned(), value.to_owned())];
        let error = Endpoint::new(own).expect_err(name).to_string();
        assert!(error.contains("header") && !error.contains("secret"), "{error}");
    }
    let mut own = settings(ProviderKind::Ollama);
    own.quirks = json!({"num_context": 1}).as_object().cloned().expect("object");
    let error = Endpoint::new(own).expect_err("no such quirk").to_string();
    assert!(error.contains("num_context"), "{error}");
}

#[tokio::test]
async fn the_breaker_opens_and_one_probe_closes_it() {
    let server = Server::start([failing(500, "x")]).await;
    let (mut settings, clock) = settings(&server, ProviderKind::OpenAiChat);
    settings.retries = 0;
    let endpoint = Endpoint::new(settings).expect("settings");
    let model = endpoint.model("a", ModelOptions::default());
    for _ in 0..5 {
        assert_eq!(ask(&model, true).await.0.expect_err("500").kind, FailureKind::Unavailable);
    }
    let other = endpoint.model("b", ModelOptions::default());
    let error = ask(&other, true).await.0.expect_err("open");
    assert_eq!((error.kind, error.attempts), (FailureKind::CircuitOpen, 0));
    assert_eq!(error.retry_after, Some(Duration::from_secs(30)));
    assert_eq!(server.seen().len(), 5, "nothing was sent");

    clock.pass(Duration::from_secs(30));
    assert_eq!(ask(&model, true).await.0.expect_err("probe").kind, FailureKind::Unavailable);
    assert_eq!(ask(&model, true).await.0.expect_err("open").kind, FailureKind::CircuitOpen);
    clock.pass(Duration::from_secs(30));
    server.now([good()]);
    ask(&model, true).await.0.expect("the probe works");
    ask(&other, true).await.0.expect("closed");
    assert_eq!(server.seen().len(), 8);
}

#[tokio::test]
async fn refusals_and_stops_do_not_open_the_breaker() {
    let server = Server::start([failing(400, "bad")]).await;
    let (model, _) = chat(&server);
    for _ in 0..7 {
        assert_eq!(ask(&model, true).await.0.expect_err("400").kind, FailureKind::BadRequest);
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    for _ in 0..7 {
        let error = model.ask(&request(true), &mut |_| {}, &cancel).await.expect_err("stopped");
        assert_eq!(error.kind, FailureKind::Cancelled);
    }
    server.now([good()]);
    ask(&model, true).await.0.expect("closed");
}

#[derive(Default)]
struct Memory(Mutex<HashSet<String>>);

impl NoToolsMemory for Memory {
    fn no_tools(&self, provider: &str, model: &str) -> bool {
        self.0.lock().expect("memory").contains(&format!("{provider}/{model}"))
    }

    fn remember(&self, provider: &str, model: &str) {
        self.0.lock().expect("memory").insert(format!("{provider}/{model}"));
    }
}

fn with_tools(value: serde_json::Value) -> ModelRequest {
    let names = NameMap::new(Format::OpenAiChat, ["t"]);
    let declared = Declarations { value, warnings: Vec::new(), names };
    ModelRequest { tools: Some(Arc::new(declared)), ..request(true) }
}

#[tokio::test]
async fn a_model_without_tools_is_remembered() {
    let refusal =
        Answer::new(400, r#"{"error":"registry.ollama.ai/library/m-1 does not support tools"}"#);
    let server = Server::start([refusal]).await;
    let (mut settings, _) = settings(&server, ProviderKind::OpenAiCompatible);
    let memory = Arc::new(Memory::default());
    settings.memory = Some(Arc::clone(&memory) as Arc<dyn NoToolsMemory>);
    let model = model(settings.clone());
    assert_eq!(model.tool_format(), Format::OpenAiChat);
    let native =
        json!([{"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}]);
    let error = ask_with(&model, &with_tools(native)).await.0.expect_err("no tools");
    assert_eq!((error.kind, error.attempts), (FailureKind::NoTools, 1));
    assert_eq!(model.tool_format(), Format::Text);
    assert!(memory.no_tools("mine", "m-1"));
    // Another process with the same memory knows it from the start; another model is not affected.
    let endpoint = Endpoint::new(settings).expect("settings");
    assert_eq!(endpoint.model("m-1", ModelOptions::default()).tool_format(), Format::Text);
    assert_eq!(endpoint.model("m-2", ModelOptions::default()).tool_format(), Format::OpenAiChat);
    let told = ModelOptions { text_tools: true, ..ModelOptions::default() };
    assert_eq!(endpoint.model("m-2", told).tool_format(), Format::Text);

    server.now([good()]);
    let text = with_tools("You have the tool t.".into());
    ask_with(&model, &text).await.0.expect("an answer");
    let body = server.seen().last().expect("a request").json();
    assert_eq!(body.get("tools"), None, "{body}");
    assert!(body.to_string().contains("You have the tool t."), "{body}");

    // An incomplete call is an error of the model, not of the connection.
    let open = sse(&["<tool_call>{\"name\": \"t\", ", "\"arguments\": {"]) + SSE_END;
    server.now([Answer::new(200, open.clone()), Answer::new(200, open)]);
    let reply = ask_with(&model, &text).await.0.expect("an answer");
    assert_eq!((reply.attempts, reply.turn.calls.len(), reply.turn.format), (1, 1, Format::Text));
}

#[tokio::test]
async fn a_refusal_for_a_flag_of_the_server_is_forgotten_with_the_process() {
    for words in [
        "tools param requires --jinja flag",
        "\\\"auto\\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
    ] {
        let refusal = Answer::new(400, format!("{{\"error\":{{\"message\":\"{words}\"}}}}"));
        let server = Server::start([refusal]).await;
        let (mut settings, _) = settings(&server, ProviderKind::OpenAiCompatible);
        let memory = Arc::new(Memory::default());
        settings.memory = Some(Arc::clone(&memory) as Arc<dyn NoToolsMemory>);
        let model = model(settings);
        let native = json!([{"type": "function", "function": {"name": "t"}}]);
        let error = ask_with(&model, &with_tools(native)).await.0.expect_err("no tools");
        assert_eq!(error.kind, FailureKind::NoTools, "{error}");
        assert_eq!(model.tool_format(), Format::Text);
        assert!(!memory.no_tools("mine", "m-1"), "{words}");
    }
}

#[tokio::test]
async fn a_refusal_of_tools_that_were_not_declared_changes_nothing() {
    let server =
        Server::start([Answer::new(400, r#"{"error":"m-1 does not support tools"}"#)]).await;
    let (model, _) = chat(&server);
    let error = ask(&model, true).await.0.expect_err("400");
    assert_eq!(error.kind, FailureKind::BadRequest);
    assert_eq!(model.tool_format(), Format::OpenAiChat);
}

#[tokio::test]
async fn an_unknown_model_has_near_names() {
    let list = json!({"data": [{"id": "m-10"}, {"id": "m-1-mini"}, {"id": "other"}]}).to_string();
    let refusal = failing(404, "The model `m-1` does not exist");
    let server = Server::start([refusal, Answer::new(200, list)]).await;
    let (settings, _) = settings(&server, ProviderKind::OpenAiChat);
    let endpoint = Endpoint::new(settings).expect("settings");
    let model = endpoint.model("m-1", ModelOptions::default());
    let error = ask(&model, true).await.0.expect_err("no such model");
    assert_eq!((error.kind, error.attempts), (FailureKind::UnknownModel, 1));
    assert!(error.message.contains("m-10, m-1-mini."), "{error}");
    assert!(!error.message.contains("other"), "{error}");
    let seen = server.seen();
    assert_eq!(seen[1].target(), "GET /v1/models");
    assert!(seen[1].head.contains(KEY));
    assert_eq!(endpoint.models().await.expect("a list"), ["m-10", "m-1-mini", "other"]);

    // Without a list the message has no suggestions.
    server.now([failing(404, "The model `m-1` does not exist"), failing(500, "x")]);
    let error = ask(&model, true).await.0.expect_err("no such model");
    assert!(!error.message.contains("Similar"), "{error}");
}
