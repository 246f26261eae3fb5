//! What is known of a server while it works: the answers that are waited for, what it says by itself, and whether it is alive.
#![deny(clippy::indexing_slicing)]

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

/// Files whose diagnostics are kept; what a server says of more is dropped.
const MAX_FILES: usize = 2000;
/// Diagnostics that are kept of one file.
const MAX_DIAGNOSTICS: usize = 1000;
/// Works in progress that are told apart; a server that begins more without ending any is not waited for.
const MAX_PROGRESS: usize = 256;
/// Characters of what a server says is wrong with itself.
const MAX_AILMENT: usize = 500;
/// Bytes of its standard error that are kept.
const MAX_STDERR: usize = 4 * 1024;

/// A message, as far as it matters what kind it is.
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
    error: Option<Refusal>,
}

/// What a server answers instead of a result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Refusal {
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

/// What was heard.
pub(super) enum Heard {
    /// An answer that was waited for.
    Answer,
    /// A request of the server, with its id.
    Request { id: Value, method: String, params: Value },
    /// Anything else.
    News,
}

#[derive(Default)]
struct State {
    pending: HashMap<i64, oneshot::Sender<Result<Value, Refusal>>>,
    diagnostics: HashMap<String, Published>,
    progress: HashSet<String>,
    /// Whether it says of itself that it has nothing to do.
    quiescent: Option<bool>,
    /// What it says is wrong with itself, or with how it sees the project.
    ailment: Option<String>,
    dead: Option<String>,
    stderr: Vec<u8>,
}

/// What a server published of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Published {
    /// How often it did.
    pub(super) times: u64,
    pub(super) items: Vec<Value>,
}

/// See the top of this file.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Counts what was heard.
    news: watch::Sender<u64>,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), news: watch::Sender::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees everything that is heard from now on.
    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Waits for the answer to this id; `None` = the server is dead.
    pub(super) fn expect(&self, id: i64) -> Option<oneshot::Receiver<Result<Value, Refusal>>> {
        let mut state = self.state();
        if state.dead.is_some() {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        state.pending.insert(id, sender);
        Some(receiver)
    }

    /// Nobody waits for this id any more.
    pub(super) fn forget(&self, id: i64) {
        self.state().pending.remove(&id);
    }

    /// Why the server is dead, if it is.
    pub(super) fn dead(&self) -> Option<String> {
        self.state().dead.clone()
    }

    /// The server is dead: nobody is waited for any more. The first reason counts.
    pub(super) fn die(&self, why: &str) {
        let mut state = self.state();
        if state.dead.is_none() {
            state.dead = Some(why.to_owned());
        }
        state.pending.clear();
        drop(state);
        self.tick();
    }

    pub(super) fn complain(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.stderr.extend_from_slice(bytes);
        let excess = state.stderr.len().saturating_sub(MAX_STDERR);
        state.stderr.drain(..excess);
    }

    /// The last words on its standard error.
    pub(super) fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.state().stderr).trim().to_owned()
    }

    pub(super) fn published(&self, uri: &str) -> Published {
        self.state().diagnostics.get(uri).cloned().unwrap_or_default()
    }

    /// What it says is wrong with itself; nothing = all is well.
    pub(super) fn ailment(&self) -> Option<String> {
        self.state().ailment.clone().filter(|words| !words.trim().is_empty())
    }

    /// Whether it is at work by itself: loading, indexing, checking.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.state();
        let working = !state.progress.is_empty() && state.progress.len() < MAX_PROGRESS;
        working || state.quiescent == Some(false)
    }

    fn tick(&self) {
        self.news.send_modify(|count| *count += 1);
    }

    /// Takes in a message. One that is no message of the protocol is passed over: its frame was right.
    pub(super) fn hear(&self, bytes: &[u8]) -> Heard {
        let Ok(message) = serde_json::from_slice::<Message>(bytes) else { return Heard::News };
        let heard = match (message.id, message.method) {
            (Some(id), Some(method)) => Heard::Request { id, method, params: message.params },
            (Some(id), None) => {
                let waiting = id.as_i64().and_then(|id| self.state().pending.remove(&id));
                match waiting {
                    Some(waiting) => {
                        let _ = waiting.send(message.error.map_or(Ok(message.result), Err));
                        Heard::Answer
                    }
                    None => Heard::News,
                }
            }
            (None, Some(method)) => {
                self.notice(&method, message.params);
                Heard::News
            }
            (None, None) => Heard::News,
        };
        self.tick();
        heard
    }

    fn notice(&self, method: &str, mut params: Value) {
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
            // rust-analyzer's own, which we ask for.
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

/// The answer to a request of the server. It may ask and register what it likes; it changes nothing through us.
pub(super) fn reply(
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

    fn hear(shared: &Shared, message: &Value) -> Heard {
        shared.hear(message.to_string().as_bytes())
    }

    #[test]
    fn answers_reach_those_who_wait() {
        let shared = Shared::new();
        let mut first = shared.expect(1).unwrap();
        let mut second = shared.expect(2).unwrap();
        assert!(matches!(hear(&shared, &json!({"id": 1, "result": 5})), Heard::Answer));
        assert!(matches!(hear(&shared, &json!({"id": 1, "result": 6})), Heard::News));
        assert_eq!(first.try_recv().unwrap(), Ok(json!(5)));
        hear(&shared, &json!({"id": 2, "error": {"code": -1, "message": "no"}}));
        assert_eq!(second.try_recv().unwrap().unwrap_err().code, -1);
        let mut third = shared.expect(3).unwrap();
        shared.die("it ended");
        assert!(third.try_recv().is_err());
        assert!(shared.expect(4).is_none());
        shared.die("later");
        assert_eq!(shared.dead().as_deref(), Some("it ended"));
    }

    #[test]
    fn what_a_server_says_is_kept_within_bounds() {
        let shared = Shared::new();
        let many: Vec<u32> = (0..5000).collect();
        let publish = |uri: &str| json!({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": many}});
        hear(&shared, &publish("file:///a"));
        hear(&shared, &publish("file:///a"));
        let published = shared.published("file:///a");
        assert_eq!((published.times, published.items.len()), (2, MAX_DIAGNOSTICS));
        shared.complain(&[b'x'; 3 * MAX_STDERR]);
        assert_eq!(shared.complaint().len(), MAX_STDERR);
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
            let answer = reply(&json!(7), method, &params, |section| json!({"of": section}));
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
            Shared::new().hear(&bytes);
        }

        #[test]
        fn any_parts_of_messages_are_heard(
            method in "(\\$/progress|textDocument/publishDiagnostics|experimental/serverStatus|x)",
            params in "(null|1|\\[\\]|\\{\\}|\\{\"uri\":1\\}|\\{\"uri\":\"a\",\"diagnostics\":3\\}|\\{\"value\":\\[\\]\\})",
            id in "(null|1|\"a\"|\\{\\})",
        ) {
            let message = format!("{{\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}");
            Shared::new().hear(message.as_bytes());
            Shared::new().hear(format!("{{\"method\":\"{method}\",\"params\":{params}}}").as_bytes());
        }
    }
}
