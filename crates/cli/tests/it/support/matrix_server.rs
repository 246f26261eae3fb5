//! The client-server API of Matrix as documented, on a free port of this machine: one room.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http_server::{HttpRequest, HttpServer};

/// The access token of the account, and its id.
pub(crate) const TOKEN: &str = "syt_Y3JpYg_kHqXvNzWbTgDpLsFmRcJ_2wVbYt";
pub(crate) const BOT: &str = "@crib:x.org";
/// Longest time that `/sync` waits here.
const LONGEST_POLL: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(60);

/// An event that the account sent.
#[derive(Debug, Clone)]
pub(crate) struct SentEvent {
    pub(crate) room: String,
    pub(crate) content: Value,
    pub(crate) id: String,
}

impl SentEvent {
    pub(crate) fn text(&self) -> &str {
        self.content["body"].as_str().unwrap_or_default()
    }
}

#[derive(Default)]
struct State {
    /// Room and event, in order; the position in this list is the sync token.
    timeline: Vec<(String, Value)>,
    /// Invitations: room and inviter.
    invitations: Vec<(String, String)>,
    joined: Vec<String>,
    members: BTreeMap<String, usize>,
    /// Rejected invitations: room and reason.
    rejected: Vec<(String, String)>,
    sent: Vec<SentEvent>,
    /// Event ids by transaction.
    transactions: BTreeMap<String, String>,
    direct: Value,
    faults: VecDeque<(String, u16, String)>,
    created: usize,
    /// The answer to the next sent event is lost, after the event was accepted.
    loses_answer: bool,
}

/// A home server with one account.
pub(crate) struct MatrixServer {
    server: HttpServer,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl MatrixServer {
    pub(crate) fn start() -> Self {
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let shared = Arc::clone(&state);
        let server = HttpServer::start(move |request| Some(answer(&shared, request)));
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

    /// A person invites the account to a room.
    pub(crate) fn invites(&self, user: &str, room: &str) {
        self.with(|state| state.invitations.push((room.to_owned(), user.to_owned())));
    }

    /// Sets the number of members of a room.
    pub(crate) fn set_members(&self, room: &str, members: usize) {
        self.with(|state| state.members.insert(room.to_owned(), members));
    }

    /// A person sends an event.
    pub(crate) fn event(&self, user: &str, room: &str, kind: &str, content: Value) {
        self.with(|state| {
            let id = format!("$in{}", state.timeline.len());
            let event = json!({"type": kind, "sender": user, "event_id": id, "content": content});
            state.timeline.push((room.to_owned(), event));
        });
    }

    /// A person writes a text.
    pub(crate) fn writes(&self, user: &str, room: &str, text: &str) {
        self.event(user, room, "m.room.message", json!({"msgtype": "m.text", "body": text}));
    }

    /// A person reacts to a message.
    pub(crate) fn reacts(&self, user: &str, room: &str, message: &str, key: &str) {
        let relation = json!({"rel_type": "m.annotation", "event_id": message, "key": key});
        self.event(user, room, "m.reaction", json!({ "m.relates_to": relation }));
    }

    /// The next request whose path contains this text is answered like this.
    pub(crate) fn fault(&self, path: &str, status: u16, body: &str) {
        self.with(|state| state.faults.push_back((path.to_owned(), status, body.to_owned())));
    }

    /// Loses the answer to the next sent event, after the event was accepted.
    pub(crate) fn lose_answer(&self) {
        self.with(|state| state.loses_answer = true);
    }

    pub(crate) fn joined(&self) -> Vec<String> {
        self.with(|state| state.joined.clone())
    }

    /// Waits until the account has rejected an invitation, and returns the reason.
    #[track_caller]
    pub(crate) fn rejection(&self, room: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let rejected = self.with(|state| state.rejected.clone());
            if let Some((_, reason)) = rejected.into_iter().find(|(of, _)| of == room) {
                return reason;
            }
            assert!(Instant::now() < until, "the invitation to {room} was not rejected");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn created(&self) -> usize {
        self.with(|state| state.created)
    }

    pub(crate) fn sent(&self) -> Vec<SentEvent> {
        self.with(|state| state.sent.clone())
    }

    /// Waits until the account has sent this event.
    #[track_caller]
    pub(crate) fn wait_for(&self, is_it: impl Fn(&SentEvent) -> bool) -> SentEvent {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.sent().into_iter().rev().find(|event| is_it(event)) {
                return found;
            }
            assert!(Instant::now() < until, "it was not sent: {:#?}", self.sent());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a text was sent to a room.
    #[track_caller]
    pub(crate) fn says(&self, room: &str, words: &str) -> SentEvent {
        self.wait_for(|event| event.room == room && event.text().contains(words))
    }
}

fn refusal(status: u16, code: &str) -> (u16, String) {
    (status, json!({"errcode": code, "error": format!("{code} here")}).to_string())
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' && tail.len() >= 2 {
            let hex = std::str::from_utf8(&tail[..2]).unwrap();
            bytes.push(u8::from_str_radix(hex, 16).unwrap());
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn answer(shared: &(Mutex<State>, Condvar), request: &HttpRequest) -> (u16, String) {
    let (state, changed) = shared;
    let mut state = state.lock().unwrap();
    let Some(path) = request.path.strip_prefix("/_matrix/client/v3") else {
        return refusal(404, "M_UNRECOGNIZED");
    };
    if request.authorization != format!("Bearer {TOKEN}") {
        return refusal(401, "M_UNKNOWN_TOKEN");
    }
    if let Some(at) = state.faults.iter().position(|(of, ..)| path.contains(of.as_str())) {
        let (_, status, body) = state.faults.remove(at).unwrap();
        return (status, body);
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<String> = path.split('/').skip(1).map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let result = match (request.method.as_str(), &parts[..]) {
        ("GET", ["account", "whoami"]) => json!({"user_id": BOT, "device_id": "D"}),
        ("GET", ["sync"]) => {
            let value = |name: &str| {
                query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")))
            };
            let since = value("since").map(|since| since.trim_start_matches('s').parse().unwrap());
            let wait: u64 = value("timeout").unwrap_or("0").parse().unwrap();
            let from: usize = since.unwrap_or(0);
            if wait > 0 && state.timeline.len() <= from && state.invitations.is_empty() {
                state = changed.wait_timeout(state, LONGEST_POLL).unwrap().0;
            }
            sync(&mut state, since)
        }
        ("POST", ["rooms", room, "join"]) => {
            state.joined.push((*room).to_owned());
            state.invitations.retain(|(of, _)| of != room);
            json!({ "room_id": room })
        }
        ("POST", ["rooms", room, "leave"]) => {
            let reason = body["reason"].as_str().unwrap_or_default().to_owned();
            state.rejected.push(((*room).to_owned(), reason));
            state.invitations.retain(|(of, _)| of != room);
            json!({})
        }
        (_, ["rooms", room, ..]) if state.rejected.iter().any(|(of, _)| of == room) => {
            return refusal(403, "M_FORBIDDEN");
        }
        ("GET", ["rooms", room, "joined_members"]) => {
            let number = state.members.get(*room).copied().unwrap_or(2);
            let members: Vec<(String, Value)> =
                (0..number).map(|at| (format!("@u{at}:x.org"), json!({}))).collect();
            json!({"joined": members.into_iter().collect::<serde_json::Map<_, _>>()})
        }
        ("PUT", ["rooms", room, "send", _, transaction]) => {
            let known = state.transactions.get(*transaction).cloned();
            let id = known.unwrap_or_else(|| {
                let id = format!("$out{}", state.sent.len());
                let room = (*room).to_owned();
                state.sent.push(SentEvent { room, content: body, id: id.clone() });
                state.transactions.insert((*transaction).to_owned(), id.clone());
                id
            });
            if std::mem::take(&mut state.loses_answer) {
                return (200, "{".to_owned());
            }
            json!({ "event_id": id })
        }
        ("GET", ["user", BOT, "account_data", "m.direct"]) if state.direct.is_null() => {
            return refusal(404, "M_NOT_FOUND");
        }
        ("GET", ["user", BOT, "account_data", "m.direct"]) => state.direct.clone(),
        ("PUT", ["user", BOT, "account_data", "m.direct"]) => {
            state.direct = body;
            json!({})
        }
        ("POST", ["createRoom"]) => {
            state.created += 1;
            json!({"room_id": format!("!direct{}:x.org", state.created)})
        }
        _ => return refusal(404, "M_UNRECOGNIZED"),
    };
    (200, result.to_string())
}

fn sync(state: &mut State, since: Option<usize>) -> Value {
    let mut join = serde_json::Map::new();
    for (room, event) in state.timeline.iter().skip(since.unwrap_or(0)) {
        let room = join.entry(room.clone()).or_insert(json!({"timeline": {"events": []}}));
        room["timeline"]["events"].as_array_mut().unwrap().push(event.clone());
    }
    let invite = state.invitations.iter().map(|(room, inviter)| {
        let member = json!({"type": "m.room.member", "state_key": BOT, "sender": inviter, "content": {"membership": "invite"}});
        (room.clone(), json!({"invite_state": {"events": [member]}}))
    });
    let invite: serde_json::Map<_, _> = invite.collect();
    // Later answers do not repeat an invitation.
    if since.is_some() {
        state.invitations.clear();
    }
    json!({
        "next_batch": format!("s{}", state.timeline.len()),
        "rooms": {"join": join, "invite": invite},
    })
}
