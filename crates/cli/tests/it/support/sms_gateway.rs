//! The local server of the app SMS Gateway for Android as documented, on a free port of this
//! machine.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::http_server::{HttpRequest, HttpServer};

/// The password of the app.
pub(crate) const PASSWORD: &str = "k3-Zw9fQ";

/// What the app does with the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It takes the message, and the answer is lost.
    AnswerLost,
    /// It answers with an error, and does not take the message.
    Error,
    /// It takes the message, and the phone cannot send it.
    NoNetwork,
}

/// A message that the app took.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) to: String,
    pub(crate) text: String,
    /// The path with the query under which it came.
    pub(crate) path: String,
    state: &'static str,
}

#[derive(Default)]
struct State {
    /// Rows of the inbox, with their time.
    inbox: Vec<(i64, Value)>,
    messages: Vec<Message>,
    troubles: Vec<Trouble>,
    /// Whether an early version of the app runs, which has no inbox.
    is_old: bool,
    requests: usize,
}

/// A phone.
pub(crate) struct SmsGateway {
    server: HttpServer,
    state: Arc<Mutex<State>>,
}

impl SmsGateway {
    pub(crate) fn start() -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        let server = HttpServer::start(move |request| answer(&shared, request));
        Self { server, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.state.lock().unwrap())
    }

    /// An SMS arrives; returns its row.
    pub(crate) fn receives(&self, sender: &str, text: &str) -> Value {
        self.with(|state| {
            let last = state.inbox.last().map_or(0, |(at, _)| *at);
            // Each has a later time than the one before.
            let at = Timestamp::now().as_millisecond().max(last + 1);
            // As the app does: an id from the content, which others may have too.
            let id = format!("text:{}", text.len());
            let row = json!({
                "id": id, "type": "SMS", "sender": sender, "recipient": null, "simNumber": 1,
                "contentPreview": text,
                "createdAt": Timestamp::from_millisecond(at).unwrap().to_string(),
                "attachments": [],
            });
            state.inbox.push((at, row.clone()));
            row
        })
    }

    /// A row of the inbox is there once more.
    pub(crate) fn repeats(&self, row: &Value) {
        self.with(|state| {
            let at: Timestamp = row["createdAt"].as_str().unwrap().parse().unwrap();
            state.inbox.push((at.as_millisecond(), row.clone()));
        });
    }

    /// The next message has this trouble.
    pub(crate) fn trouble(&self, trouble: Trouble) {
        self.with(|state| state.troubles.push(trouble));
    }

    pub(crate) fn set_old(&self, is_old: bool) {
        self.with(|state| state.is_old = is_old);
    }

    /// Returns the messages that the app took.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.with(|state| state.messages.clone())
    }

    /// Returns the number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.with(|state| state.requests)
    }
}

fn answer(state: &Mutex<State>, request: &HttpRequest) -> Option<(u16, String)> {
    let mut state = state.lock().unwrap();
    state.requests += 1;
    if request.authorization != format!("Basic {}", STANDARD.encode(format!("sms:{PASSWORD}"))) {
        return Some((401, String::new()));
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let (status, body) = match (request.method.as_str(), path) {
        ("GET", "/device" | "/devices") if state.is_old == (path == "/device") => {
            (200, json!([{"id": "0000", "name": "Google/Pixel 8"}]))
        }
        ("GET", "/inbox") if !state.is_old => (200, inbox(&state, query)),
        ("POST", "/messages") => return take(&mut state, request),
        ("GET", path) if path.starts_with("/messages/") => {
            let id = path.trim_start_matches("/messages/");
            match state.messages.iter().find(|one| one.id == id) {
                Some(message) => (200, shown(message)),
                None => (404, json!({"message": "Not found"})),
            }
        }
        _ => (404, json!({"message": "Not found"})),
    };
    Some((status, body.to_string()))
}

/// The newest rows first, as the app has them.
fn inbox(state: &State, query: &str) -> Value {
    let value = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let number = |name: &str, default| value(name).map_or(default, |text| text.parse().unwrap());
    let (limit, offset): (usize, usize) = (number("limit", 50), number("offset", 0));
    assert!((1..=500).contains(&limit));
    let from = value("from").map_or(0, |text| text.parse::<Timestamp>().unwrap().as_millisecond());
    let mut rows: Vec<_> = state.inbox.iter().filter(|(at, _)| *at >= from).collect();
    rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    rows.into_iter().skip(offset).take(limit).map(|(_, row)| row.clone()).collect()
}

fn take(state: &mut State, request: &HttpRequest) -> Option<(u16, String)> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let id = text(&body["id"]);
    if state.messages.iter().any(|one| one.id == id) {
        let said = json!({"message": "Message with the same ID already exists"});
        return Some((409, said.to_string()));
    }
    let trouble = if state.troubles.is_empty() { None } else { Some(state.troubles.remove(0)) };
    if trouble == Some(Trouble::Error) {
        return Some((500, json!({"message": "Database is locked"}).to_string()));
    }
    let message = Message {
        id,
        to: text(&body["phoneNumbers"][0]),
        text: text(&body["textMessage"]["text"]),
        path: request.path.clone(),
        state: if trouble == Some(Trouble::NoNetwork) { "Failed" } else { "Sent" },
    };
    let answer = shown(&message);
    state.messages.push(message);
    if trouble == Some(Trouble::AnswerLost) { None } else { Some((202, answer.to_string())) }
}

fn shown(message: &Message) -> Value {
    let error = (message.state == "Failed").then_some("RESULT_ERROR_NO_SERVICE");
    let mut states = json!({"Pending": "2026-01-01T00:00:00Z"});
    states[message.state] = json!("2026-01-01T00:00:01Z");
    json!({
        "id": message.id, "deviceId": "0000", "state": message.state, "isHashed": false,
        "isEncrypted": false, "states": states,
        "recipients": [{"phoneNumber": message.to, "state": message.state, "error": error}],
    })
}
