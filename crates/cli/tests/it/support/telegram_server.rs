//! The Bot API of Telegram as documented, on a free port of this machine.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http_server::{HttpRequest, HttpServer};

/// The token of the bot.
pub(crate) const TOKEN: &str = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
/// Longest time that `getUpdates` waits here, even if more is asked for.
const LONGEST_POLL: Duration = Duration::from_millis(500);
/// Time for what a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the bot did.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    pub(crate) method: String,
    pub(crate) body: Value,
    /// The id of the sent message.
    pub(crate) message: i64,
}

impl Deed {
    pub(crate) fn text(&self) -> &str {
        self.body["text"].as_str().unwrap_or_default()
    }

    /// Returns the meanings of its buttons.
    pub(crate) fn buttons(&self) -> Vec<&str> {
        let rows = self.body["reply_markup"]["inline_keyboard"].as_array();
        let buttons = rows.into_iter().flatten().filter_map(|row| row[0]["callback_data"].as_str());
        buttons.collect()
    }
}

#[derive(Default)]
struct State {
    /// Updates that were not confirmed by a later offset.
    updates: Vec<Value>,
    /// Updates that are delivered regardless of the offset.
    again: Vec<Value>,
    last_update: i64,
    last_message: i64,
    deeds: Vec<Deed>,
    /// Answers for the next requests of a method.
    faults: VecDeque<(String, u16, String)>,
    is_down: bool,
    polls: usize,
}

/// A service with one bot.
pub(crate) struct TelegramServer {
    server: HttpServer,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl TelegramServer {
    pub(crate) fn start() -> Self {
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let shared = Arc::clone(&state);
        let server = HttpServer::start(move |request| answer(&shared, request));
        Self { server, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let answer = change(&mut self.state.0.lock().unwrap());
        self.state.1.notify_all();
        answer
    }

    /// A person writes a message with these parts.
    pub(crate) fn message(&self, user: i64, parts: Value) {
        self.with(|state| {
            state.last_message += 1;
            let mut message = json!({
                "message_id": state.last_message, "date": 1_700_000_000,
                "from": {"id": user, "is_bot": false, "first_name": "Ann", "username": "ann"},
                "chat": {"id": user, "type": "private", "first_name": "Ann"},
            });
            message.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
            state.update(json!({"message": message}));
        });
    }

    /// A person writes a text.
    pub(crate) fn writes(&self, user: i64, text: &str) {
        self.message(user, json!({ "text": text }));
    }

    /// A person presses a button; returns the id of the press.
    pub(crate) fn press(&self, user: i64, message: i64, data: &str) -> String {
        self.with(|state| {
            let id = format!("press-{}", state.last_update + 1);
            state.update(json!({"callback_query": {
                "id": id, "from": {"id": user, "is_bot": false, "first_name": "Ann"},
                "message": {"message_id": message, "chat": {"id": user, "type": "private"}},
                "chat_instance": "1", "data": data,
            }}));
            id
        })
    }

    /// Adds an update as it is.
    pub(crate) fn raw_update(&self, update: Value) {
        self.with(|state| state.update(update));
    }

    /// Delivers the last update once more, although it was confirmed.
    pub(crate) fn repeat(&self, update: Value) {
        self.with(|state| state.again.push(update));
    }

    /// The next request of a method is answered like this.
    pub(crate) fn fault(&self, method: &str, status: u16, body: &str) {
        self.with(|state| state.faults.push_back((method.to_owned(), status, body.to_owned())));
    }

    /// The service answers nothing.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.with(|state| state.is_down = is_down);
    }

    /// Returns everything that the bot did.
    pub(crate) fn deeds(&self) -> Vec<Deed> {
        self.with(|state| state.deeds.clone())
    }

    /// Returns the texts that were sent to a person.
    pub(crate) fn texts(&self, user: i64) -> Vec<String> {
        let deeds = self.deeds().into_iter();
        let sent =
            deeds.filter(|deed| deed.method == "sendMessage" && deed.body["chat_id"] == user);
        sent.map(|deed| deed.text().to_owned()).collect()
    }

    /// Returns the number of requests for updates.
    pub(crate) fn polls(&self) -> usize {
        self.with(|state| state.polls)
    }

    /// Waits until the bot has done this; returns the last such deed.
    #[track_caller]
    pub(crate) fn wait_for(&self, is_it: impl Fn(&Deed) -> bool) -> Deed {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.deeds().into_iter().rev().find(|deed| is_it(deed)) {
                return found;
            }
            assert!(Instant::now() < until, "the bot did not: {:#?}", self.deeds());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a text was sent to a person.
    #[track_caller]
    pub(crate) fn says(&self, user: i64, words: &str) -> Deed {
        self.wait_for(|deed| {
            deed.method == "sendMessage"
                && deed.body["chat_id"] == user
                && deed.text().contains(words)
        })
    }

    /// Waits until a message was edited.
    #[track_caller]
    pub(crate) fn edits(&self, message: i64, words: &str) -> Deed {
        self.wait_for(|deed| {
            deed.method == "editMessageText"
                && deed.body["message_id"] == message
                && deed.text().contains(words)
        })
    }

    /// Waits until a press was acknowledged.
    #[track_caller]
    pub(crate) fn acknowledges(&self, press: &str) -> String {
        let deed = self.wait_for(|deed| {
            deed.method == "answerCallbackQuery" && deed.body["callback_query_id"] == press
        });
        deed.text().to_owned()
    }
}

impl State {
    fn update(&mut self, mut update: Value) {
        self.last_update += 1;
        if let Some(update) = update.as_object_mut() {
            update.insert("update_id".to_owned(), json!(self.last_update));
        }
        self.updates.push(update);
    }
}

fn refusal(status: u16, words: &str) -> Option<(u16, String)> {
    let body = json!({"ok": false, "error_code": status, "description": words});
    Some((status, body.to_string()))
}

fn answer(shared: &(Mutex<State>, Condvar), request: &HttpRequest) -> Option<(u16, String)> {
    let (state, changed) = shared;
    let mut state = state.lock().unwrap();
    if state.is_down {
        return None;
    }
    let Some((token, method)) = request.path.strip_prefix("/bot").and_then(|p| p.split_once('/'))
    else {
        return refusal(404, "Not Found");
    };
    if token != TOKEN {
        return refusal(401, "Unauthorized");
    }
    if let Some(at) = state.faults.iter().position(|(of, ..)| of == method) {
        let (_, status, body) = state.faults.remove(at).unwrap();
        return Some((status, body));
    }
    assert_eq!(request.method, "POST");
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let result = match method {
        "getMe" => {
            json!({"id": 110_201_543, "is_bot": true, "first_name": "Crib", "username": "crib_bot"})
        }
        "getUpdates" => {
            state.polls += 1;
            if let Some(offset) = body["offset"].as_i64() {
                state.updates.retain(|update| update["update_id"].as_i64().unwrap_or(0) >= offset);
            }
            let wait = body["timeout"].as_u64().unwrap_or(0);
            if wait > 0 && state.updates.is_empty() && state.again.is_empty() {
                state = changed.wait_timeout(state, LONGEST_POLL).unwrap().0;
            }
            let mut updates = std::mem::take(&mut state.again);
            updates.extend(state.updates.iter().take(100).cloned());
            json!(updates)
        }
        "sendMessage" => {
            let text = body["text"].as_str().unwrap_or_default();
            if text.trim().is_empty() {
                return refusal(400, "Bad Request: message text is empty");
            }
            if text.encode_utf16().count() > 4096 {
                return refusal(400, "Bad Request: message is too long");
            }
            state.last_message += 1;
            let message = state.last_message;
            state.deeds.push(Deed { method: method.to_owned(), body: body.clone(), message });
            json!({"message_id": message, "chat": {"id": body["chat_id"]}, "text": text})
        }
        "editMessageText" | "answerCallbackQuery" => {
            let message = body["message_id"].as_i64().unwrap_or(0);
            state.deeds.push(Deed { method: method.to_owned(), body, message });
            json!(true)
        }
        _ => return refusal(404, "Not Found: method not found"),
    };
    Some((200, json!({"ok": true, "result": result}).to_string()))
}
