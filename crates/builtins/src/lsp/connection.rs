//! State of a connection to a language server: pending requests, published diagnostics, progress,
//! and whether the server is alive.
#![deny(clippy::indexing_slicing)]

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

/// Maximum number of files whose diagnostics are kept; those of further files are dropped.
const MAX_FILES: usize = 2000;
/// Maximum number of diagnostics kept per file.
const MAX_DIAGNOSTICS: usize = 1000;
/// Maximum tracked progress tokens; beyond them, calls do not wait for the server's work.
const MAX_PROGRESS: usize = 256;
/// Characters of the health message that are kept.
const MAX_AILMENT: usize = 500;
/// Bytes of standard error that are kept.
const MAX_STDERR: usize = 4 * 1024;

/// A message, with the fields that tell its kind.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Option<ResponseError>,
}

/// The error of a response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ResponseError {
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

/// The kind of a received message.
pub(super) enum IncomingMessage {
    /// A response to a pending request.
    Answer,
    /// A request of the server, with its id.
    Request { id: Value, method: String, params: Value },
    /// Anything else.
    News,
}

#[derive(Default)]
struct State {
    pending: HashMap<i64, oneshot::Sender<Result<Value, ResponseError>>>,
    diagnostics: HashMap<String, Published>,
    progress: HashSet<String>,
    /// Whether the server reports that it is idle (`quiescent`).
    quiescent: Option<bool>,
    /// The problem that the server reports with itself or the project.
    ailment: Option<String>,
    dead: Option<String>,
    stderr: Vec<u8>,
}

/// Diagnostics that a server published for a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Published {
    /// How often they were published.
    pub(super) times: u64,
    pub(super) items: Vec<Value>,
}

/// Shared state of one connection.
pub(super) struct ConnectionState {
    state: Mutex<State>,
    /// Counts the received messages.
    news: watch::Sender<u64>,
}

impl ConnectionState {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), news: watch::Sender::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a receiver that changes with every later message.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Registers a request before it is sent; the receiver gets its response. `None` if the server
    /// is dead.
    pub(super) fn register_request(
        &self,
        id: i64,
    ) -> Option<oneshot::Receiver<Result<Value, ResponseError>>> {
        let mut state = self.state();
        if state.dead.is_some() {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        state.pending.insert(id, sender);
        Some(receiver)
    }

    /// Drops a pending request.
    pub(super) fn cancel_request(&self, id: i64) {
        self.state().pending.remove(&id);
    }

    /// Returns why the server is dead; `None` if it is alive.
    pub(super) fn death_reason(&self) -> Option<String> {
        self.state().dead.clone()
    }

    /// Marks the server as dead and fails all pending requests. The first reason is kept.
    pub(super) fn mark_dead(&self, why: &str) {
        let mut state = self.state();
        if state.dead.is_none() {
            state.dead = Some(why.to_owned());
        }
        state.pending.clear();
        drop(state);
        self.tick();
    }

    pub(super) fn record_stderr(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.stderr.extend_from_slice(bytes);
        let excess = state.stderr.len().saturating_sub(MAX_STDERR);
        state.stderr.drain(..excess);
    }

    /// Returns the end of its standard error.
    pub(super) fn last_stderr(&self) -> String {
        String::from_utf8_lossy(&self.state().stderr).trim().to_owned()
    }

    pub(super) fn published(&self, uri: &str) -> Published {
        self.state().diagnostics.get(uri).cloned().unwrap_or_default()
    }

    /// Returns the problem that the server reports; `None` if it is healthy.
    pub(super) fn health_warning(&self) -> Option<String> {
        self.state().ailment.clone().filter(|words| !words.trim().is_empty())
    }

    /// Returns whether it is busy with background work: loading, indexing, checking.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.state();
        let working = !state.progress.is_empty() && state.progress.len() < MAX_PROGRESS;
        working || state.quiescent == Some(false)
    }

    fn tick(&self) {
        self.news.send_modify(|count| *count += 1);
    }

    /// Handles a message. One that is not valid JSON-RPC is skipped; its frame was complete, so the
    /// stream stays usable.
    pub(super) fn handle_message(&self, bytes: &[u8]) -> IncomingMessage {
        let Ok(message) = serde_json::from_slice::<Message>(bytes) else {
            return IncomingMessage::News;
        };
        let heard = match (message.id, message.method) {
            (Some(id), Some(method)) => {
                IncomingMessage::Request { id, method, params: message.params }
            }
            (Some(id), None) => {
                let waiting = id.as_i64().and_then(|id| self.state().pending.remove(&id));
                match waiting {
                    Some(waiting) => {
                        let _ = waiting.send(message.error.map_or(Ok(message.result), Err));
                        IncomingMessage::Answer
                    }
                    None => IncomingMessage::News,
                }
            }
            (None, Some(method)) => {
                self.handle_notification(&method, message.params);
                IncomingMessage::News
            }
            (None, None) => IncomingMessage::News,
        };
        self.tick();
        heard
    }

    fn handle_notification(&self, method: &str, mut params: Value) {
        let mut state = self.state();
        match method {
            "textDocument/publishDiagnostics" => {
                let Some(uri) = params.get("uri").and_then(Value::as_str).map(str::to_owned) else {
                    return;
                };
                if state.diagnostics.len() >= MAX_FILES && !state.diagnostics.contains_key(&uri) {
                    return;
                }
                let items = match params.get_mut("diagnostics").map(Value::take) {
                    Some(Value::Array(mut items)) => {
                        items.truncate(MAX_DIAGNOSTICS);
                        items
                    }
                    _ => Vec::new(),
                };
                let published = state.diagnostics.entry(uri).or_default();
                published.times += 1;
                published.items = items;
            }
            "$/progress" => {
                let token = params.get("token").map(Value::to_string).unwrap_or_default();
                match params.pointer("/value/kind").and_then(Value::as_str) {
                    Some("begin") if state.progress.len() < MAX_PROGRESS => {
                        state.progress.insert(token);
                    }
                    Some("end") => {
                        state.progress.remove(&token);
                    }
                    _ => {}
                }
            }
            // An extension of rust-analyzer, requested in our client capabilities.
            "experimental/serverStatus" => {
                state.quiescent = params.get("quiescent").and_then(Value::as_bool);
                let words = |name: &str| params.get(name).and_then(Value::as_str);
                let is_ill = words("health").is_some_and(|health| health != "ok");
                let said = words("message").unwrap_or_default().chars().take(MAX_AILMENT);
                state.ailment = is_ill.then(|| said.collect());
            }
            _ => {}
        }
    }
}

/// Answers a request of the server. The server may ask and register anything, but its requests
/// change nothing.
pub(super) fn answer_request(
    id: &Value,
    method: &str,
    params: &Value,
    configuration: impl Fn(&str) -> Value,
) -> Value {
    let result = match method {
        "workspace/configuration" => {
            let items = params.get("items").and_then(Value::as_array);
            let section = |item: &Value| {
                configuration(item.get("section").and_then(Value::as_str).unwrap_or_default())
            };
            items.map(|items| items.iter().take(100).map(section).collect()).unwrap_or_default()
        }
        "workspace/applyEdit" => json!({"applied": false}),
        "window/workDoneProgress/create"
        | "client/registerCapability"
        | "client/unregisterCapability"
        | "window/showMessageRequest"
        | "workspace/workspaceFolders"
        | "workspace/diagnostic/refresh"
        | "workspace/semanticTokens/refresh"
        | "workspace/inlayHint/refresh"
        | "workspace/codeLens/refresh" => Value::Null,
        _ => {
            let error = json!({"code": -32601, "message": "not supported"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hear(shared: &ConnectionState, message: &Value) -> IncomingMessage {
        shared.handle_message(message.to_string().as_bytes())
    }

    #[test]
    fn answers_reach_those_who_wait() {
        let shared = ConnectionState::new();
        let mut first = shared.register_request(1).unwrap();
        let mut second = shared.register_request(2).unwrap();
        assert!(matches!(hear(&shared, &json!({"id": 1, "result": 5})), IncomingMessage::Answer));
        assert!(matches!(hear(&shared, &json!({"id": 1, "result": 6})), IncomingMessage::News));
        assert_eq!(first.try_recv().unwrap(), Ok(json!(5)));
        hear(&shared, &json!({"id": 2, "error": {"code": -1, "message": "no"}}));
        assert_eq!(second.try_recv().unwrap().unwrap_err().code, -1);
        let mut third = shared.register_request(3).unwrap();
        shared.mark_dead("it ended");
        assert!(third.try_recv().is_err());
        assert!(shared.register_request(4).is_none());
        shared.mark_dead("later");
        assert_eq!(shared.death_reason().as_deref(), Some("it ended"));
    }

    #[test]
    fn what_a_server_says_is_kept_within_bounds() {
        let shared = ConnectionState::new();
        let many: Vec<u32> = (0..5000).collect();
        let publish = |uri: &str| json!({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": many}});
        hear(&shared, &publish("file:///a"));
        hear(&shared, &publish("file:///a"));
        let published = shared.published("file:///a");
        assert_eq!((published.times, published.items.len()), (2, MAX_DIAGNOSTICS));
        shared.record_stderr(&[b'x'; 3 * MAX_STDERR]);
        assert_eq!(shared.last_stderr().len(), MAX_STDERR);
        let progress = |token: usize, kind: &str| json!({"method": "$/progress", "params": {"token": token, "value": {"kind": kind}}});
        hear(&shared, &progress(0, "begin"));
        assert!(shared.is_busy());
        hear(&shared, &progress(0, "end"));
        assert!(!shared.is_busy());
        for token in 0..2 * MAX_PROGRESS {
            hear(&shared, &progress(token, "begin"));
        }
        assert!(!shared.is_busy(), "a server that never ends anything is not waited for");
    }

    #[test]
    fn requests_of_servers_change_nothing() {
        let check = |method: &str, params: Value, expected: Value| {
            let answer =
                answer_request(&json!(7), method, &params, |section| json!({"of": section}));
            assert_eq!(answer.get("result").or(answer.get("error")), Some(&expected), "{method}");
            assert_eq!(answer["id"], 7);
        };
        check(
            "workspace/configuration",
            json!({"items": [{"section": "a"}, {}]}),
            json!([{"of": "a"}, {"of": ""}]),
        );
        check("workspace/applyEdit", json!({}), json!({"applied": false}));
        check("client/registerCapability", json!({}), Value::Null);
        check(
            "window/showDocument",
            json!({}),
            json!({"code": -32601, "message": "not supported"}),
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_heard(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            ConnectionState::new().handle_message(&bytes);
        }

        #[test]
        fn any_parts_of_messages_are_heard(
            method in "(\\$/progress|textDocument/publishDiagnostics|experimental/serverStatus|x)",
            params in "(null|1|\\[\\]|\\{\\}|\\{\"uri\":1\\}|\\{\"uri\":\"a\",\"diagnostics\":3\\}|\\{\"value\":\\[\\]\\})",
            id in "(null|1|\"a\"|\\{\\})",
        ) {
            let message = format!("{{\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}");
            ConnectionState::new().handle_message(message.as_bytes());
            ConnectionState::new().handle_message(format!("{{\"method\":\"{method}\",\"params\":{params}}}").as_bytes());
        }
    }
}
