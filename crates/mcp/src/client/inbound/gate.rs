//! Limits of unsolicited messages from a server, and the count of responses that match no request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::RoleClient;

use super::super::connection::Connection;
use super::token_bucket::TokenBucket;
use super::{UNREADABLE_ANSWER, raw_lists};
use crate::stdio::{LineHook, UnreadableLine};

/// Notifications that are processed in a burst, and per second in the long run. Progress of several
/// calls and a chatty log stay far below.
const NOTIFICATIONS: (u32, u32) = (1_000, 200);
/// Requests of a server in a burst, and per second in the long run. A server that exceeds the
/// limits is ended, because each request costs a task and a response.
const REQUESTS: (u32, u32) = (500, 20);
/// Notifications that may be dropped within [`FLOOD_TIME`] before the server is ended. 100,000 log
/// lines in one call are a debug log; a million are a flood.
const FLOOD: u64 = 250_000;
/// See [`FLOOD`].
const FLOOD_TIME: Duration = Duration::from_secs(60);
/// Maximum recorded requests without a response; a response to a further request counts as one that
/// matches no request.
const MOST_UNANSWERED: usize = 8_192;

/// The gate of one connection.
pub(crate) struct InboundGate {
    connection: Weak<Connection>,
    state: Mutex<GateState>,
}

struct GateState {
    notifications: TokenBucket,
    requests: TokenBucket,
    /// Start of the current [`FLOOD_TIME`], and the number of notifications dropped since.
    since: Instant,
    dropped: u64,
    unanswered: HashMap<RequestId, Request>,
    stray: u64,
    /// Number of lines that are not messages.
    noise: u64,
}

/// The kind of an unanswered request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    /// Its response is read in its wire form.
    ListsTools,
    /// It stays open.
    Listens,
    Discovers,
    Other,
}

/// The decision about a message.
pub(super) enum Verdict {
    Pass(Box<ServerJsonRpcMessage>),
    /// The gate processed or dropped the message.
    Consumed,
    /// The server must be ended.
    End,
}

impl InboundGate {
    pub(crate) fn new(connection: Weak<Connection>) -> Self {
        let bucket = |(burst, per_second): (u32, u32)| TokenBucket::new(burst, per_second);
        let state = GateState {
            notifications: bucket(NOTIFICATIONS),
            requests: bucket(REQUESTS),
            since: Instant::now(),
            dropped: 0,
            unanswered: HashMap::new(),
            stray: 0,
            noise: 0,
        };
        Self { connection, state: Mutex::new(state) }
    }

    /// Returns whether the server has not answered `server/discover` at all.
    pub(crate) fn ignores_discover(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.unanswered.values().any(|kind| *kind == Request::Discovers)
    }

    /// Records a request of ours.
    pub(super) fn sends(&self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Request(request) = message {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let kind = match request.request {
                ClientRequest::ListToolsRequest(_) => Request::ListsTools,
                ClientRequest::DiscoverRequest(_) => Request::Discovers,
                ClientRequest::SubscriptionsListenRequest(_) => Request::Listens,
                _ => Request::Other,
            };
            if state.unanswered.len() < MOST_UNANSWERED {
                state.unanswered.insert(request.id.clone(), kind);
            }
        }
    }

    /// Decides about a message of the server.
    pub(super) fn judge(&self, message: ServerJsonRpcMessage) -> Verdict {
        let Some(connection) = self.connection.upgrade() else { return Verdict::End };
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &message {
            JsonRpcMessage::Notification(told) => {
                if !state.notifications.take(now) {
                    return state.leave_out(&connection, now);
                }
                drop(state);
                if is_used(&connection, &told.notification) {
                    return Verdict::Consumed;
                }
            }
            JsonRpcMessage::Request(_) if !state.requests.take(now) => {
                let (burst, rate) = REQUESTS;
                connection.quarantine(format!(
                    "it sent more than {burst} requests at once, or {rate} per second"
                ));
                return Verdict::End;
            }
            JsonRpcMessage::Request(_) => {}
            JsonRpcMessage::Response(answer) => state.answered(&connection, Some(&answer.id)),
            JsonRpcMessage::Error(answer) => state.answered(&connection, answer.id.as_ref()),
        }
        Verdict::Pass(Box::new(message))
    }
}

impl GateState {
    fn leave_out(&mut self, connection: &Connection, now: Instant) -> Verdict {
        if now.saturating_duration_since(self.since) > FLOOD_TIME {
            (self.since, self.dropped) = (now, 0);
        }
        self.dropped += 1;
        if self.dropped == 1 || self.dropped.is_multiple_of(10_000) {
            let count = self.dropped;
            let line = format!("its notifications come too fast; left out so far: {count}");
            connection.log().push_line(&line);
        }
        if self.dropped <= FLOOD {
            return Verdict::Consumed;
        }
        let (rate, seconds) = (NOTIFICATIONS.1, FLOOD_TIME.as_secs());
        connection.quarantine(format!(
            "it sent over {FLOOD} notifications more than {rate} per second within {seconds} s"
        ));
        Verdict::End
    }

    /// Records a response. rmcp itself drops a response that matches no request.
    fn answered(&mut self, connection: &Connection, id: Option<&RequestId>) {
        let known = id.is_some_and(|id| {
            connection.calls().answered(id);
            self.unanswered.remove(id).is_some()
                || number(id).is_some_and(|id| self.unanswered.remove(&id).is_some())
        });
        if known {
            return;
        }
        self.stray += 1;
        // Log the first ones, and then fewer and fewer.
        if self.stray.is_power_of_two() {
            let id = id.map_or_else(|| "no request".to_owned(), |id| format!("request {id}"));
            let id: String = id.chars().take(100).collect();
            let count = self.stray;
            connection.log().push_line(&format!(
                "it answered {id}, which nothing waits for; such answers so far: {count}"
            ));
        }
    }
}

impl LineHook<RoleClient> for InboundGate {
    fn read(&self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lists = |id: &RequestId| state.unanswered.get(id) == Some(&Request::ListsTools);
        if !state.unanswered.values().any(|kind| *kind == Request::ListsTools) {
            return None;
        }
        raw_lists::read_answer(line, lists)
    }

    /// Creates the error that ends a call whose response cannot be read.
    fn unreadable(&self, line: &UnreadableLine<'_>) -> Option<ServerJsonRpcMessage> {
        let connection = self.connection.upgrade()?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let id = line.is_answer().then(|| state.request_of(line)).flatten();
        let Some(id) = id else {
            state.noise += 1;
            if state.noise.is_power_of_two() {
                let (count, reason) = (state.noise, line.reason);
                let what = if line.is_noise() { "not a message" } else { "not readable" };
                let start = String::from_utf8_lossy(line.head.get(..100).unwrap_or(line.head));
                connection.log().push_line(&format!(
                    "a line of its output is {what} ({reason}): {start:?}; such lines so far: {count}"
                ));
            }
            return None;
        };
        let reason = line.reason;
        connection.log().push_line(&format!("its answer to request {id} cannot be read: {reason}"));
        let error = ErrorData::new(UNREADABLE_ANSWER, reason.to_string(), None);
        Some(ServerJsonRpcMessage::error(error, Some(id)))
    }
}

impl GateState {
    /// Finds the request of an unreadable response: the one with its id, or the only open one.
    fn request_of(&self, line: &UnreadableLine<'_>) -> Option<RequestId> {
        if let Some(id) = line.id() {
            return self.unanswered.contains_key(&id).then_some(id);
        }
        let mut open = self
            .unanswered
            .iter()
            .filter(|(_, kind)| !matches!(kind, Request::Listens | Request::Discovers));
        match (open.next(), open.next()) {
            (Some((id, _)), None) => Some(id.clone()),
            _ => None,
        }
    }
}

/// Returns the numeric form of an id that is a text: some servers return our numbers as texts, and
/// rmcp accepts them.
fn number(id: &RequestId) -> Option<RequestId> {
    match id {
        RequestId::String(text) => text.parse().ok().map(RequestId::Number),
        RequestId::Number(_) => None,
    }
}

/// Processes a notification here, without a separate task; `false` if rmcp needs it.
fn is_used(connection: &Connection, told: &ServerNotification) -> bool {
    match told {
        ServerNotification::ProgressNotification(told) => connection.progress(&told.params),
        ServerNotification::LoggingMessageNotification(told) => {
            connection.log_message(&told.params);
        }
        ServerNotification::ToolListChangedNotification(_) => connection.recheck_tools(),
        // rmcp caches resources until one of these arrives, and waits for the others.
        ServerNotification::ResourceUpdatedNotification(_)
        | ServerNotification::ResourceListChangedNotification(_)
        | ServerNotification::CancelledNotification(_)
        | ServerNotification::SubscriptionsAcknowledgedNotification(_) => return false,
        _ => {}
    }
    true
}
