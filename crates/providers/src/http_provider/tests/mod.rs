//! Tests of the HTTP provider against a server on the loopback interface.

mod keys_redirects_breaker;
mod provider_kinds;
mod retries;
mod scripted_server;
mod streams;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use toolcrib_core::{BoxFuture, CancellationToken};

use super::{ApiKey, Clock, Endpoint, HttpModel, ModelOptions, ProviderKind, ProviderSettings};
use crate::conversation::{Message, UserMessage};
use crate::model::{Delta, Model, ModelError, ModelReply, ModelRequest};
use scripted_server::{Answer, Server};

/// A key that must appear in one header and nowhere else.
const KEY: &str = "sk-secret-0123456789abcdef";

/// A clock on which waiting takes no time.
#[derive(Default)]
struct FakeClock {
    passed: Mutex<Duration>,
    slept: Mutex<Vec<Duration>>,
}

impl FakeClock {
    fn pass(&self, time: Duration) {
        *self.passed.lock().expect("clock") += time;
    }

    fn slept(&self) -> Vec<Duration> {
        self.slept.lock().expect("clock").clone()
    }
}

/// The moment at which every fake clock begins.
fn start() -> Instant {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *START.get_or_init(Instant::now)
}

impl Clock for FakeClock {
    fn now(&self) -> Instant {
        start() + *self.passed.lock().expect("clock")
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.slept.lock().expect("clock").push(time);
        self.pass(time);
        Box::pin(std::future::ready(()))
    }
}

/// Settings for a provider at this server.
fn settings(server: &Server, kind: ProviderKind) -> (ProviderSettings, Arc<FakeClock>) {
    let clock = Arc::new(FakeClock::default());
    let mut settings = ProviderSettings::new("mine", kind);
    let path = match kind {
        ProviderKind::OpenAiChat
        | ProviderKind::OpenAiResponses
        | ProviderKind::OpenAiCompatible => "/v1",
        _ => "",
    };
    settings.base_url = Some(format!("{}{path}", server.url()));
    settings.key = Some(ApiKey::new(KEY).expect("key"));
    settings.clock = Arc::clone(&clock) as Arc<dyn Clock>;
    (settings, clock)
}

/// Creates a model of a Chat Completions provider at this server.
fn chat(server: &Server) -> (HttpModel, Arc<FakeClock>) {
    let (settings, clock) = settings(server, ProviderKind::OpenAiChat);
    (model(settings), clock)
}

fn model(settings: ProviderSettings) -> HttpModel {
    Endpoint::new(settings).expect("settings").model("m-1", ModelOptions::default())
}

fn request(stream: bool) -> ModelRequest {
    let user = UserMessage { text: "hello".to_owned(), ..UserMessage::default() };
    ModelRequest {
        system: "be brief".to_owned(),
        messages: vec![Arc::new(Message::User(user))],
        tools: None,
        temperature: None,
        max_output: None,
        stream,
    }
}

/// Sends a request, and returns the deltas too.
async fn ask_with(
    model: &HttpModel,
    request: &ModelRequest,
) -> (Result<ModelReply, ModelError>, Vec<Delta>) {
    let mut deltas = Vec::new();
    let mut sink = |delta| deltas.push(delta);
    let reply = model.ask(request, &mut sink, &CancellationToken::new()).await;
    if let Err(error) = &reply {
        let shown = format!("{error} {error:?} {model:?}");
        assert!(!shown.contains("0123456789"), "the key is shown: {shown}");
    }
    (reply, deltas)
}

async fn ask(model: &HttpModel, stream: bool) -> (Result<ModelReply, ModelError>, Vec<Delta>) {
    ask_with(model, &request(stream)).await
}

fn text_of(deltas: &[Delta]) -> String {
    let texts = deltas.iter().filter_map(|delta| match delta {
        Delta::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// A streamed answer of Chat Completions.
fn sse(pieces: &[&str]) -> String {
    let mut stream = String::new();
    for piece in pieces {
        let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
        stream += &format!("data: {delta}\n\n");
    }
    stream
}

/// The end of such a stream.
const SSE_END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn good() -> Answer {
    Answer::new(200, sse(&["he", "llo"]) + SSE_END)
}

fn failing(status: u16, message: &str) -> Answer {
    Answer::new(status, serde_json::json!({"error": {"message": message}}).to_string())
}
