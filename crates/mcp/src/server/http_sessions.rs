//! Sessions of clients of older revisions: each belongs to the client that created it, and their
//! number is limited.
//!
//! rmcp accepts a session id from any client. Here a client cannot access a session of another
//! client, so it cannot answer its questions, read its stream or end it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// Maximum sessions of one client. Programs use one for each conversation; a session takes about 60
/// KB.
const MAX_PER_CLIENT: usize = 32;
/// Maximum sessions of all clients: about 60 MB.
const MAX_SESSIONS: usize = 1_024;

/// The sessions, and the clients that created them.
#[derive(Clone, Default)]
pub(super) struct HttpSessions {
    pub(super) manager: Arc<LocalSessionManager>,
    owned: Arc<Mutex<HashMap<SessionId, OwnedSession>>>,
}

struct OwnedSession {
    client: String,
    used: Instant,
}

impl HttpSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, OwnedSession>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a session exists for this client, and marks it as used.
    pub(super) fn touch(&self, id: &str, client: &str) -> bool {
        let mut owned = self.lock();
        match owned.get_mut(id).filter(|session| session.client == client) {
            Some(session) => {
                session.used = Instant::now();
                true
            }
            None => false,
        }
    }

    /// Removes a session that its client has ended.
    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Assigns a new session to the client that created it, and ends the session that was idle
    /// longest if there are too many.
    pub(super) async fn add(&self, id: &str, client: &str) {
        let evicted = {
            let mut owned = self.lock();
            // rmcp ends sessions that are idle for minutes. If its lock is taken, the next session
            // repeats this check.
            if let Ok(open) = self.manager.sessions.try_read() {
                owned.retain(|id, _| open.contains_key(id));
            }
            let session = OwnedSession { client: client.to_owned(), used: Instant::now() };
            owned.insert(id.into(), session);
            let evicted = excess(&owned, client);
            evicted.and_then(|id| owned.remove_entry(&id)).map(|(id, _)| id)
        };
        if let Some(id) = evicted {
            tracing::info!(client, "an idle MCP session was ended: there are too many");
            let _ = self.manager.close_session(&id).await;
        }
    }
}

/// Returns the session to end: the least recently used one of this client if it has too many,
/// otherwise, if there are too many in total, that of the client with the most sessions.
fn excess(owned: &HashMap<SessionId, OwnedSession>, client: &str) -> Option<SessionId> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for session in owned.values() {
        *counts.entry(&session.client).or_default() += 1;
    }
    let of = if counts.get(client).is_some_and(|count| *count > MAX_PER_CLIENT) {
        client
    } else if owned.len() > MAX_SESSIONS {
        counts.iter().max_by_key(|(_, count)| **count).map(|(client, _)| *client)?
    } else {
        return None;
    };
    let sessions = owned.iter().filter(|(_, session)| session.client == of);
    sessions.min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Creates sessions of clients, each older than the one before.
    fn owned(clients: &[(&str, usize)]) -> HashMap<SessionId, OwnedSession> {
        let now = Instant::now();
        let all = clients.iter().flat_map(|(client, count)| (0..*count).map(move |n| (*client, n)));
        all.zip(0_u32..)
            .map(|((client, n), age)| {
                let used = now.checked_sub(Duration::from_millis(age.into())).unwrap();
                let id = format!("{client}{n}").into();
                (id, OwnedSession { client: client.to_owned(), used })
            })
            .collect()
    }

    fn check(clients: &[(&str, usize)], client: &str, expected: Option<&str>) {
        assert_eq!(excess(&owned(clients), client).as_deref(), expected, "{clients:?} {client}");
    }

    #[test]
    fn the_session_that_was_idle_longest_is_ended_first() {
        check(&[("a", MAX_PER_CLIENT), ("b", 3)], "a", None);
        check(&[("a", MAX_PER_CLIENT + 1), ("b", 3)], "a", Some("a32"));
        check(&[("a", MAX_PER_CLIENT + 1), ("b", 3)], "b", None);
        let names: Vec<String> = (0..200).map(|n| format!("c{n}_")).collect();
        let mut many: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 5)).collect();
        many.push(("busy", 30));
        check(&many, "c1_", Some("busy29"));
    }
}
