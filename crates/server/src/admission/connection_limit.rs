//! Limit 1: how many connections are open. Connections without a token cannot keep others out, one
//! client cannot take all of them with a token, and processes on the unix socket have a reserve:
//! the owner of an overloaded daemon can always connect.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::CancellationToken;

use super::fd_limit;
use crate::settings::DaemonSettings;

/// Age below which a connection is not evicted: a client that has a token has sent it by then.
const AUTHENTICATION_GRACE: Duration = Duration::from_secs(5);

/// Connections for processes on the unix socket when all others are in use.
const UNIX_RESERVE: usize = 64;

/// Limits on open connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    /// All connections over TCP and the socket, without the reserve.
    pub(super) total: usize,
    /// Connections of one client with a token.
    pub(super) per_client: usize,
    /// Connections without a token from one address.
    pub(super) unauthenticated_per_address: usize,
}

/// A client has reached its limit of this many connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyConnections(pub(crate) usize);

/// All open connections.
pub(crate) struct ConnectionLimiter {
    limits: ConnectionLimits,
    state: Mutex<LimiterState>,
}

#[derive(Default)]
struct LimiterState {
    total: usize,
    next_number: u64,
    /// Connections that have not sent a token yet, oldest first.
    unauthenticated: BTreeMap<u64, UnauthenticatedConnection>,
    by_address: HashMap<IpAddr, usize>,
    by_client: HashMap<String, usize>,
}

struct UnauthenticatedConnection {
    address: IpAddr,
    since: Instant,
    evicted: CancellationToken,
}

/// The right to keep a connection open; returned when the last clone is dropped. The extensions of
/// every request contain a clone.
#[derive(Clone)]
pub(crate) struct ConnectionPermit {
    inner: Arc<PermitInner>,
}

struct PermitInner {
    limiter: Arc<ConnectionLimiter>,
    /// `None` for a process on the socket, which counts as authenticated.
    number: Option<u64>,
    /// The client that sent a token; if there are several, as behind a proxy, the last one.
    client: Mutex<Option<String>>,
    evicted: CancellationToken,
}

impl ConnectionLimiter {
    /// Creates the limiter for these settings, within the number of files that the process may
    /// open. One client gets at most half of all connections.
    pub(crate) fn for_settings(settings: &DaemonSettings) -> Arc<Self> {
        let total = settings.max_connections.min(fd_limit::max_connections(UNIX_RESERVE));
        Self::new(ConnectionLimits {
            total,
            per_client: settings.max_connections_per_client.min(total / 2).max(1),
            unauthenticated_per_address: settings.max_unauthenticated_per_address,
        })
    }

    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, LimiterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection from this address (`None` for the unix socket). Returns `None` if the
    /// limit is reached and no connection can be evicted.
    pub(crate) fn acquire(self: &Arc<Self>, address: Option<IpAddr>) -> Option<ConnectionPermit> {
        self.acquire_at(address, Instant::now())
    }

    fn acquire_at(
        self: &Arc<Self>,
        address: Option<IpAddr>,
        now: Instant,
    ) -> Option<ConnectionPermit> {
        let evicted = CancellationToken::new();
        let mut state = self.lock();
        let limit = self.limits.total + if address.is_none() { UNIX_RESERVE } else { 0 };
        if state.total >= limit && !state.evict_oldest(None, now) {
            return None;
        }
        state.total += 1;
        let number = address.map(|address| {
            let of_address = state.by_address.get(&address).copied().unwrap_or(0);
            if of_address >= self.limits.unauthenticated_per_address {
                // If there is no old connection to evict, the address exceeds its limit: all of its
                // connections are new and may have tokens. The total still bounds them.
                state.evict_oldest(Some(address), now);
            }
            state.add(UnauthenticatedConnection { address, since: now, evicted: evicted.clone() })
        });
        let (limiter, client) = (Arc::clone(self), Mutex::default());
        Some(ConnectionPermit { inner: Arc::new(PermitInner { limiter, number, client, evicted }) })
    }

    /// Evicts all connections that have not sent a token.
    pub(crate) fn evict_unauthenticated(&self) {
        let connections = std::mem::take(&mut self.lock().unauthenticated);
        for connection in connections.into_values() {
            connection.evicted.cancel();
        }
    }
}

impl LimiterState {
    fn add(&mut self, connection: UnauthenticatedConnection) -> u64 {
        self.next_number += 1;
        *self.by_address.entry(connection.address).or_insert(0) += 1;
        self.unauthenticated.insert(self.next_number, connection);
        self.next_number
    }

    /// Evicts the oldest unauthenticated connection, of this address or of any; returns `false` if
    /// all are within the grace time.
    fn evict_oldest(&mut self, address: Option<IpAddr>, now: Instant) -> bool {
        let mut connections = self.unauthenticated.iter();
        let oldest =
            connections.find(|(_, one)| address.is_none_or(|address| one.address == address));
        let Some((number, _)) =
            oldest.filter(|(_, one)| now.duration_since(one.since) >= AUTHENTICATION_GRACE)
        else {
            return false;
        };
        let number = *number;
        self.take(number).is_some_and(|connection| {
            connection.evicted.cancel();
            true
        })
    }

    fn take(&mut self, number: u64) -> Option<UnauthenticatedConnection> {
        let connection = self.unauthenticated.remove(&number)?;
        decrement(&mut self.by_address, &connection.address);
        Some(connection)
    }
}

fn decrement<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl PermitInner {
    fn client(&self) -> MutexGuard<'_, Option<String>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// Counts the connection for the client that sent a token on it. The connection can then no
    /// longer be evicted.
    ///
    /// # Errors
    /// [`TooManyConnections`]; the connection then stays unauthenticated. Connections on the socket
    /// are not counted.
    pub(crate) fn assign_client(&self, client: &str) -> Result<(), TooManyConnections> {
        let Some(number) = self.inner.number else { return Ok(()) };
        let mut counted_for = self.inner.client();
        if counted_for.as_deref() == Some(client) {
            return Ok(());
        }
        let mut state = self.inner.limiter.lock();
        let limit = self.inner.limiter.limits.per_client;
        let count = state.by_client.entry(client.to_owned()).or_insert(0);
        if *count >= limit {
            return Err(TooManyConnections(limit));
        }
        *count += 1;
        state.take(number);
        if let Some(before) = counted_for.replace(client.to_owned()) {
            decrement(&mut state.by_client, &before);
        }
        Ok(())
    }

    /// Returns the client that sent a token on this connection.
    pub(super) fn authenticated_client(&self) -> Option<String> {
        self.inner.client().clone()
    }

    /// Resolves when the connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.inner.evicted.cancelled().await;
    }
}

impl Drop for PermitInner {
    fn drop(&mut self) {
        let client = self.client().take();
        let mut state = self.limiter.lock();
        state.total -= 1;
        if let Some(client) = client {
            decrement(&mut state.by_client, &client);
        }
        if let Some(number) = self.number {
            state.take(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, last]))
    }

    fn limits(all: usize, unauthenticated: usize) -> ConnectionLimits {
        ConnectionLimits {
            total: all,
            per_client: all,
            unauthenticated_per_address: unauthenticated,
        }
    }

    fn is_evicted(permit: &ConnectionPermit) -> bool {
        permit.inner.evicted.is_cancelled()
    }

    #[test]
    fn unauthenticated_connections_are_evicted_oldest_first_after_a_grace_time() {
        let (limiter, begin) = (ConnectionLimiter::new(limits(4, 2)), Instant::now());
        let later = begin + AUTHENTICATION_GRACE;
        let first = limiter.acquire_at(address(1), begin).unwrap();
        let second = limiter.acquire_at(address(1), begin).unwrap();
        let third = limiter.acquire_at(address(1), begin).unwrap();
        assert!(!is_evicted(&first));
        first.assign_client("a").unwrap();
        let fourth = limiter.acquire_at(address(1), later).unwrap();
        assert!(!is_evicted(&first) && is_evicted(&second) && !is_evicted(&third));
        drop(second);
        let other = limiter.acquire_at(address(2), later).unwrap();
        // Full: the oldest unauthenticated connection is evicted; the rest are within the grace
        // time.
        let fifth = limiter.acquire_at(address(2), later).unwrap();
        assert!(is_evicted(&third) && !is_evicted(&other));
        assert!(limiter.acquire_at(address(3), later).is_none());
        drop((first, third, fourth, other, fifth));
        let state = limiter.lock();
        assert!(
            state.total == 0 && state.unauthenticated.is_empty() && state.by_address.is_empty()
        );
    }

    #[test]
    fn a_process_on_the_socket_is_never_evicted_and_has_a_reserve() {
        let (limiter, begin) = (ConnectionLimiter::new(limits(1, 1)), Instant::now());
        let known = limiter.acquire_at(address(1), begin).unwrap();
        known.assign_client("a").unwrap();
        let later = begin + AUTHENTICATION_GRACE;
        let permits: Vec<ConnectionPermit> =
            (0..UNIX_RESERVE).map(|_| limiter.acquire_at(None, later).unwrap()).collect();
        assert!(
            limiter.acquire_at(None, later).is_none()
                && limiter.acquire_at(address(2), later).is_none()
        );
        assert!(
            permits.iter().all(|permit| !is_evicted(permit) && permit.assign_client("b").is_ok())
        );
    }

    #[test]
    fn one_client_cannot_take_all_connections() {
        let limiter = ConnectionLimiter::new(ConnectionLimits { per_client: 2, ..limits(10, 10) });
        let enter = || limiter.acquire_at(address(1), Instant::now()).unwrap();
        let (first, second, third) = (enter(), enter(), enter());
        for permit in [&first, &first, &second] {
            permit.assign_client("a").unwrap();
        }
        assert_eq!(third.assign_client("a"), Err(TooManyConnections(2)));
        assert_eq!(limiter.lock().unauthenticated.len(), 1, "it stays unauthenticated");
        third.assign_client("b").unwrap();
        // A proxy sends requests of several clients over one connection.
        first.assign_client("b").unwrap();
        third.assign_client("a").unwrap();
        assert_eq!(first.assign_client("a"), Err(TooManyConnections(2)));
        drop(second);
        first.assign_client("a").unwrap();
        drop((first, third));
        assert!(limiter.lock().by_client.is_empty());
    }
}
