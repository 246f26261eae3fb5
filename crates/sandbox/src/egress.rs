//! Egress proxy: the only route from a sandbox to the network. An HTTP proxy that connects to
//! listed hosts only, at addresses that the HTTP tools may connect to as well.
//!
//! Invariants
//! - A host is checked twice: its name against the list, and each of its addresses against the
//!   address policy. The connection goes to a checked address.
//! - Forwarded requests are rebuilt from checked values, never passed through.
//! - No connection outlives the proxy value.

mod proxy_connection;
mod request_head;

use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use toolcrib_net::{AddressPolicy, Resolve, SystemResolver};

use crate::host_rules::HostRules;

/// Maximum concurrent connections of one sandbox; further ones wait.
const MOST_CONNECTIONS: usize = 256;

/// Maximum number of recorded refusals.
const MOST_REFUSALS: usize = 64;

/// Wait after a failed accept.
const PAUSE: Duration = Duration::from_millis(50);

/// A host that was requested and denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHost {
    /// `host:port` as requested.
    pub host: String,
    /// `host.not_listed`, or the rule of the address policy.
    pub rule: String,
}

/// Resolver and address policy of the proxy.
#[derive(Clone)]
pub struct Egress {
    addresses: AddressPolicy,
    resolver: Arc<dyn Resolve>,
}

impl Default for Egress {
    /// Allows only public addresses, with the system's resolver.
    fn default() -> Self {
        Self::new(AddressPolicy::public_only(), Arc::new(SystemResolver))
    }
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Egress").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Egress {
    /// Combines an address policy with a resolver.
    #[must_use]
    pub fn new(addresses: AddressPolicy, resolver: Arc<dyn Resolve>) -> Self {
        Self { addresses, resolver }
    }
}

/// The hosts that one sandbox may reach, and its refusals.
pub(crate) struct EgressFilter {
    pub(crate) hosts: HostRules,
    pub(crate) egress: Egress,
    refused: Mutex<Vec<RefusedHost>>,
}

impl EgressFilter {
    pub(crate) fn new(hosts: HostRules, mut egress: Egress) -> Arc<Self> {
        egress.addresses =
            hosts.private_targets().fold(egress.addresses, AddressPolicy::with_entry);
        Arc::new(Self { hosts, egress, refused: Mutex::default() })
    }

    /// Returns the hosts that were denied so far.
    pub(crate) fn refused(&self) -> Vec<RefusedHost> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refuse(&self, one: RefusedHost) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MOST_REFUSALS && !refused.contains(&one) {
            refused.push(one);
        }
    }
}

/// Returns the environment variables that announce a proxy at this local port.
pub(crate) fn variables(port: u16) -> impl Iterator<Item = (OsString, OsString)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let named = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, proxy.clone()));
    let own = ("NO_PROXY", "localhost,127.0.0.1,::1".to_owned());
    named.into_iter().chain([own]).flat_map(|(name, value)| {
        let small = name.to_lowercase();
        [(name.into(), value.clone().into()), (small.into(), value.into())]
    })
}

/// The running proxy of one sandbox. Dropping it closes all its connections.
pub(crate) struct Proxy {
    gate: Arc<EgressFilter>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Serves these hosts on a listener.
    pub(crate) fn open(
        listener: std::net::TcpListener,
        hosts: &HostRules,
        egress: &Egress,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let gate = EgressFilter::new(hosts.clone(), egress.clone());
        Ok(Self { serving: tokio::spawn(serve(listener, Arc::clone(&gate))), gate })
    }

    /// Returns the hosts that were denied so far.
    pub(crate) fn refused(&self) -> Vec<RefusedHost> {
        self.gate.refused()
    }

    /// Stops the proxy; the refusals stay available.
    pub(crate) fn close(&self) {
        self.serving.abort();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.close();
    }
}

/// Serves a listener until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<EgressFilter>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let gate = Arc::clone(&gate);
                connections.spawn(async move {
                    proxy_connection::proxy_connection(stream, &gate).await;
                    drop(place);
                });
            }
            // Probably out of file descriptors; some will be closed.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
