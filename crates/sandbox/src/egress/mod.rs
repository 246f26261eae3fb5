//! The way out of a sandbox: an HTTP proxy that reaches named hosts only, at addresses that the HTTP tools may reach too.
//!
//! Invariants
//! - A host is judged twice: by name against the list, by every address it has against the address policy. The connection goes to an
//!   address that was judged.
//! - What is sent on is written anew from what was judged, never passed through.
//! - Nothing outlives the value that serves: its end closes every connection.

mod connection;
mod head;

use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use toolcrib_net::{AddressPolicy, Resolve, SystemResolver};

use crate::hosts::HostRules;

/// Connections of one sandbox at one time; more wait.
const MOST_CONNECTIONS: usize = 256;

/// Refusals that are remembered.
const MOST_REFUSALS: usize = 64;

/// How long is waited where connections cannot be taken.
const PAUSE: Duration = Duration::from_millis(50);

/// A host that was asked for and not reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// `host:port`, as it was asked for.
    pub host: String,
    /// `host.not_listed`, or the rule of the address policy.
    pub rule: String,
}

/// How hosts are looked up and which addresses are fine.
#[derive(Clone)]
pub struct Egress {
    addresses: AddressPolicy,
    resolver: Arc<dyn Resolve>,
}

impl Default for Egress {
    /// Public addresses, looked up by the system.
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
    /// Addresses by this policy, names by this resolver.
    #[must_use]
    pub fn new(addresses: AddressPolicy, resolver: Arc<dyn Resolve>) -> Self {
        Self { addresses, resolver }
    }
}

/// What one sandbox may reach.
pub(crate) struct Gate {
    pub(crate) hosts: HostRules,
    pub(crate) egress: Egress,
    refused: Mutex<Vec<Refused>>,
}

impl Gate {
    pub(crate) fn new(hosts: HostRules, egress: Egress) -> Arc<Self> {
        Arc::new(Self { hosts, egress, refused: Mutex::default() })
    }

    /// What was refused so far.
    pub(crate) fn refused(&self) -> Vec<Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refuse(&self, one: Refused) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MOST_REFUSALS && !refused.contains(&one) {
            refused.push(one);
        }
    }
}

/// The variables by which programs find a proxy at this port of their own machine.
pub(crate) fn variables(port: u16) -> impl Iterator<Item = (OsString, OsString)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let named = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, proxy.clone()));
    let own = ("NO_PROXY", "localhost,127.0.0.1,::1".to_owned());
    named.into_iter().chain([own]).flat_map(|(name, value)| {
        let small = name.to_lowercase();
        [(name.into(), value.clone().into()), (small.into(), value.into())]
    })
}

/// The proxy of one sandbox, at work. Dropped, it ends with all its connections.
pub(crate) struct Proxy {
    gate: Arc<Gate>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Serves these hosts at a listener.
    pub(crate) fn open(
        listener: std::net::TcpListener,
        hosts: &HostRules,
        egress: &Egress,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let gate = Gate::new(hosts.clone(), egress.clone());
        Ok(Self { serving: tokio::spawn(serve(listener, Arc::clone(&gate))), gate })
    }

    /// What was refused so far.
    pub(crate) fn refused(&self) -> Vec<Refused> {
        self.gate.refused()
    }

    /// Serves nobody any more; what was refused is still known.
    pub(crate) fn close(&self) {
        self.serving.abort();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.close();
    }
}

/// Serves a listener until it is dropped.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<Gate>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let gate = Arc::clone(&gate);
                connections.spawn(async move {
                    connection::carry(stream, &gate).await;
                    drop(place);
                });
            }
            // Out of descriptors, most likely: some will be closed.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
