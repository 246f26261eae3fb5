//! Limit 2: the number of requests of one client that are read and checked at once, so that a burst
//! of thousands does not delay the requests of others.
//!
//! The client is seldom known before the request is read. Requests on a connection that has sent a
//! token queue as that client. Requests on a new connection queue with others of its address, in a
//! queue chosen by a hash of the `Authorization` header. The header is not verified yet, so an
//! address has only a few queues; the hash is keyed, so that a client cannot choose the queue of
//! another one.

use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::pin::pin;
use std::sync::{Arc, Weak};

use axum::extract::Request;
use axum::http::header;

use super::connection_limit::ConnectionPermit;
use super::fair_queue::{FairQueue, Permit, START_TIME};
use crate::peer::Peer;

/// Number of queues of an address whose clients are not known yet.
const QUEUES_PER_ADDRESS: u64 = 16;

/// A weak handle to the permit under which a request is read, in the extensions of the request. The
/// permit itself is owned by [`RequestAdmission::admit`], so a clone that outlives the request,
/// such as in a session, does not hold it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestPermit(Weak<Permit>);

impl RequestPermit {
    /// Ends the reading and checking of the request: the next one of its queue may start.
    pub(super) fn release(&self) {
        if let Some(permit) = self.0.upgrade() {
            permit.mark_started();
        }
    }
}

/// The queues in front of reading requests. No request is refused: connections are bounded, and
/// each has at most one request at a time.
pub(crate) struct RequestAdmission {
    queues: FairQueue,
    hasher: RandomState,
}

impl RequestAdmission {
    /// Creates queues that read this many requests of one client at once.
    pub(super) fn new(at_once: usize) -> Self {
        let queues = FairQueue::new(usize::MAX / 2, at_once, usize::MAX);
        Self { queues, hasher: RandomState::new() }
    }

    /// Returns the queue key of a request.
    pub(crate) fn queue_key(
        &self,
        peer: &Peer,
        connection: &ConnectionPermit,
        request: &Request,
    ) -> String {
        if let Some(client) = connection.authenticated_client() {
            return format!("client {client}");
        }
        match peer {
            Peer::Unix { pid, .. } => format!("process {}", pid.unwrap_or_default()),
            Peer::Tcp { remote, .. } => {
                let claims = request.headers().get(header::AUTHORIZATION);
                let queue = self.hasher.hash_one(claims) % QUEUES_PER_ADDRESS;
                format!("new {} {queue}", remote.ip())
            }
        }
    }

    /// Waits for a permit, then polls `answer`, which puts the given handle into the request. The
    /// permit stops starting after [`START_TIME`], because a request that takes longer waits for
    /// something, such as the rest of its body. It is returned once there is a response.
    pub(crate) async fn admit<T, F: Future<Output = T>>(
        &self,
        queue: &str,
        answer: impl FnOnce(RequestPermit) -> F,
    ) -> T {
        let Ok(waiter) = self.queues.acquire(queue, 1) else {
            return answer(RequestPermit::default()).await;
        };
        let permit = Arc::new(waiter.await);
        let mut answer = pin!(answer(RequestPermit(Arc::downgrade(&permit))));
        match tokio::time::timeout(START_TIME, answer.as_mut()).await {
            Ok(answered) => answered,
            Err(_) => {
                permit.mark_started();
                answer.await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::future::pending;

    use axum::body::Body;
    use axum::http::Request;

    use super::super::connection_limit::{ConnectionLimiter, ConnectionLimits};
    use super::*;

    /// Requests of one queue that are read at once.
    const AT_ONCE: usize = 4;

    fn tcp(last: u8) -> Peer {
        let at = |last| ([10, 0, 0, last], 80).into();
        Peer::Tcp { local: at(1), remote: at(last) }
    }

    fn connection() -> ConnectionPermit {
        ConnectionLimiter::new(ConnectionLimits {
            total: 9,
            per_client: 9,
            unauthenticated_per_address: 9,
        })
        .acquire(None)
        .unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_requests_of_a_queue_are_read_at_once_and_other_queues_pass() {
        let admission = RequestAdmission::new(AT_ONCE);
        let wait = |_: RequestPermit| pending::<()>();
        let mut held: Vec<_> = (0..AT_ONCE).map(|_| Box::pin(admission.admit("a", wait))).collect();
        for one in &mut held {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        let mut next = Box::pin(admission.admit("a", |_| async { "next" }));
        assert!(futures_util::poll!(next.as_mut()).is_pending());
        drop(held.pop());
        assert_eq!(next.await, "next", "one request ended");
        let mut last = Box::pin(admission.admit("a", |_| async { "last" }));
        held.push(Box::pin(admission.admit("a", wait)));
        for one in &mut held {
            let _ = futures_util::poll!(one.as_mut());
        }
        assert_eq!(admission.admit("b", |_| async { "other" }).await, "other");
        assert!(futures_util::poll!(last.as_mut()).is_pending());
        tokio::time::advance(START_TIME).await;
        for one in &mut held {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        assert_eq!(last.await, "last", "a slow request stops counting as starting");
    }

    #[tokio::test(start_paused = true)]
    async fn a_released_permit_admits_the_next_request() {
        let admission = RequestAdmission::new(AT_ONCE);
        let mut held: Vec<_> = (0..2 * AT_ONCE)
            .map(|_| {
                Box::pin(admission.admit("a", |permit| async move {
                    permit.release();
                    pending::<()>().await;
                }))
            })
            .collect();
        for one in &mut held {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        let next = Box::pin(admission.admit("a", |_| async { "next" }));
        for one in &mut held {
            assert!(futures_util::poll!(one.as_mut()).is_pending());
        }
        assert_eq!(next.await, "next");
    }

    #[test]
    fn queues_are_per_client_and_few_per_address_without_a_token() {
        let admission = RequestAdmission::new(AT_ONCE);
        let request = |token: &str| {
            let request = Request::post("/").header(header::AUTHORIZATION, token);
            request.body(Body::empty()).unwrap()
        };
        let queue =
            |peer: &Peer, token: &str| admission.queue_key(peer, &connection(), &request(token));
        assert_eq!(queue(&tcp(7), "a"), queue(&tcp(7), "a"));
        assert_ne!(queue(&tcp(7), "a"), queue(&tcp(8), "a"));
        let queues: HashSet<String> =
            (0..1_000).map(|n| queue(&tcp(7), &format!("Bearer {n}"))).collect();
        assert_eq!(queues.len(), QUEUES_PER_ADDRESS as usize);
        let process = |pid| Peer::Unix { uid: 1, pid: Some(pid), refused: None };
        assert_ne!(queue(&process(1), ""), queue(&process(2), ""));
        let known = ConnectionLimiter::new(ConnectionLimits {
            total: 9,
            per_client: 9,
            unauthenticated_per_address: 9,
        });
        let known = known.acquire(Some([10, 0, 0, 7].into())).unwrap();
        known.assign_client("ann").unwrap();
        assert_eq!(admission.queue_key(&tcp(7), &known, &request("a")), "client ann");
    }
}
