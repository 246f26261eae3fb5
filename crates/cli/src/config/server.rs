//! `[server]`: the addresses and limits of the daemon.
#![deny(clippy::indexing_slicing)]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use crate::config::deserialize;

/// Default address of the daemon: loopback, so that only this machine reaches it, with a port that
/// no well-known service uses.
pub(crate) const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::V4(std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 8717));

/// `[server]`; missing keys have the daemon's defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerSection {
    /// TCP address; port 0 selects any free port.
    pub(crate) listen: Option<SocketAddr>,
    /// Whether the daemon listens on TCP at all.
    pub(crate) tcp: Option<bool>,
    /// Path of the socket for programs of the same user.
    pub(crate) socket: Option<PathBuf>,
    /// Certificate chain, a PEM file.
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key, a PEM file.
    pub(crate) tls_key: Option<PathBuf>,
    /// Additional host names that requests may use.
    pub(crate) hosts: Vec<String>,
    /// Additional origins whose pages may send requests.
    pub(crate) origins: Vec<String>,
    /// Proxies in front of the daemon, by address or network.
    pub(crate) proxies: Vec<IpNet>,
    /// Maximum number of calls that run at once.
    pub(crate) calls_at_once: Option<usize>,
    /// Maximum number of waiting calls.
    pub(crate) calls_waiting: Option<usize>,
    /// Maximum number of active runs.
    pub(crate) runs_at_once: Option<usize>,
    /// Maximum number of active runs of one client.
    pub(crate) runs_of_client: Option<usize>,
    /// Whether the person who requested a call may not decide about it: the owner is one person on
    /// all surfaces, and each token is another. Applies to the daemon and to `toolcrib approve`.
    pub(crate) four_eyes: Option<bool>,
    /// Maximum number of requests of one client per minute.
    pub(crate) requests_per_minute: Option<u32>,
    /// Maximum number of failed logins of one address per minute.
    pub(crate) failures_per_minute: Option<u32>,
    /// Maximum number of bytes of a body.
    pub(crate) body_bytes: Option<usize>,
    /// Time for which calls and runs may continue after the daemon was told to stop.
    #[serde(deserialize_with = "deserialize::duration")]
    pub(crate) drain: Option<Duration>,
}

impl ServerSection {
    /// Checks the section as a whole.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err("`tls_cert` and `tls_key` go together".to_owned());
        }
        let counts = [
            ("calls_at_once", self.calls_at_once == Some(0)),
            ("runs_at_once", self.runs_at_once == Some(0)),
            ("runs_of_client", self.runs_of_client == Some(0)),
            ("requests_per_minute", self.requests_per_minute == Some(0)),
            ("failures_per_minute", self.failures_per_minute == Some(0)),
            ("body_bytes", self.body_bytes == Some(0)),
        ];
        match counts.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((key, _)) => Err(format!("`{key}` of 0 would let nothing in")),
            None => Ok(()),
        }
    }

    /// Returns certificate chain and key, with paths relative to this folder.
    pub(crate) fn tls(&self, resolved: impl Fn(&Path) -> PathBuf) -> Option<(PathBuf, PathBuf)> {
        Some((resolved(self.tls_cert.as_deref()?), resolved(self.tls_key.as_deref()?)))
    }
}
