//! The reception: of one client, a few requests at a time are read and checked, so that thousands that come at once delay nobody else's.
//!
//! The turnstile stands behind it, where it is known what a request wants: whoever gets there has left the reception. Here it is seldom known
//! who somebody is. A connection that showed a token stands in that client's line; one that is new stands with others of its address, in a
//! line chosen by the token that it says it has. What it says is not believed, so the lines of an address are few, and which one it is
//! cannot be told from outside.

use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::header;

use super::{Peer, Seat};
use crate::turnstile::{Turn, Turnstile};

/// Lines of an address whose clients are not known yet.
const LINES: u64 = 16;
/// Time after which a request that has not left by itself waits for something, such as the rest of its body: it keeps no other one waiting.
const READS: Duration = Duration::from_millis(2);

tokio::task_local! {
    static TURN: Arc<Turn>;
}

/// Where requests are received. It has room for all: connections are bounded.
pub(crate) struct Reception {
    lines: Turnstile,
    choice: RandomState,
}

impl Reception {
    /// So many of a line are received at once.
    pub(crate) fn new(at_once: usize) -> Self {
        let lines = Turnstile::new(usize::MAX / 2, at_once, usize::MAX);
        Self { lines, choice: RandomState::new() }
    }

    /// The line that a request stands in.
    pub(super) fn line(&self, peer: &Peer, seat: &Seat, request: &Request) -> String {
        if let Some(client) = seat.client() {
            return format!("client {client}");
        }
        match peer {
            Peer::Unix { pid, .. } => format!("process {}", pid.unwrap_or_default()),
            Peer::Tcp { remote, .. } => {
                let claims = request.headers().get(header::AUTHORIZATION);
                let line = self.choice.hash_one(claims) % LINES;
                format!("new {} {line}", remote.ip())
            }
        }
    }

    /// Answers a request when it is its turn.
    pub(super) async fn receive<T>(&self, line: &str, answer: impl Future<Output = T>) -> T {
        let Ok(waiter) = self.lines.enter(line, 1) else { return answer.await };
        let turn = Arc::new(waiter.await);
        let mut answer = pin!(TURN.scope(Arc::clone(&turn), answer));
        match tokio::time::timeout(READS, answer.as_mut()).await {
            Ok(answered) => answered,
            Err(_) => {
                turn.has_begun();
                answer.await
            }
        }
    }
}

/// The request that is answered here is read and checked, and stands at the turnstile: the next one is received.
pub(crate) fn leave_reception() {
    let _ = TURN.try_with(|turn| turn.has_begun());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::future::pending;

    use axum::body::Body;
    use axum::http::Request;

    use super::super::crowd::{Crowd, Room};
    use super::*;

    /// Requests that a client may have in the reception at once.
    const AT_ONCE: usize = 4;

    fn tcp(last: u8) -> Peer {
        let at = |last| ([10, 0, 0, last], 80).into();
        Peer::Tcp { local: at(1), remote: at(last) }
    }

    fn seat() -> Seat {
        Crowd::of(Room { all: 9, of_client: 9, strangers: 9 }).enter(None).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_of_a_line_are_received_at_once_and_other_lines_pass() {
        let reception = Reception::new(AT_ONCE);
        let mut held: Vec<_> =
            (0..AT_ONCE).map(|_| Box::pin(reception.receive("a", pending::<()>()))).collect();
        for one in &mut held {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        let mut next = Box::pin(reception.receive("a", async { "next" }));
        assert!(futures_util::poll!(next.as_mut()).is_pending());
        drop(held.pop());
        assert_eq!(next.await, "next", "one has gone away");
        let mut last = Box::pin(reception.receive("a", async { "last" }));
        held.push(Box::pin(reception.receive("a", pending())));
        for one in &mut held {
            let _ = futures_util::poll!(one.as_mut());
        }
        assert_eq!(reception.receive("b", async { "other" }).await, "other");
        assert!(futures_util::poll!(last.as_mut()).is_pending());
        tokio::time::advance(READS).await;
        for one in &mut held {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        assert_eq!(last.await, "last", "whoever waits long keeps nobody waiting");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_stands_at_the_turnstile_has_left() {
        let reception = Reception::new(AT_ONCE);
        let mut held: Vec<_> = (0..2 * AT_ONCE)
            .map(|_| {
                Box::pin(reception.receive("a", async {
                    leave_reception();
                    pending::<()>().await;
                }))
            })
            .collect();
        for one in &mut held {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        let next = Box::pin(reception.receive("a", async { "next" }));
        for one in &mut held {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        assert_eq!(next.await, "next");
    }

    #[test]
    fn lines_are_those_of_clients_and_few_of_an_address_before() {
        let reception = Reception::new(AT_ONCE);
        let request = |token: &str| {
            let request = Request::post("/").header(header::AUTHORIZATION, token);
            request.body(Body::empty()).unwrap()
        };
        let line = |peer: &Peer, token: &str| reception.line(peer, &seat(), &request(token));
        assert_eq!(line(&tcp(7), "a"), line(&tcp(7), "a"));
        assert_ne!(line(&tcp(7), "a"), line(&tcp(8), "a"));
        let of_one: HashSet<String> =
            (0..1_000).map(|n| line(&tcp(7), &format!("Bearer {n}"))).collect();
        assert_eq!(of_one.len(), LINES as usize);
        let process = |pid| Peer::Unix { uid: 1, pid: Some(pid), refused: None };
        assert_ne!(line(&process(1), ""), line(&process(2), ""));
        let known = Crowd::of(Room { all: 9, of_client: 9, strangers: 9 });
        let known = known.enter(Some([10, 0, 0, 7].into())).unwrap();
        known.known("ann").unwrap();
        assert_eq!(reception.line(&tcp(7), &known, &request("a")), "client ann");
    }
}
