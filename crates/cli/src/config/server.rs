//! `[server]`: where the daemon listens, and how much it takes.
#![deny(clippy::indexing_slicing)]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use crate::config::deserialize;

/// Where a daemon listens when nothing else is said: loopback, so that only this machine reaches
/// it, on a port that nothing well known has.
pub(crate) const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::V4(std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 8717));

/// `[server]`; what is left out has the daemon's own default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerSection {
    /// TCP address; port 0 = any free one.
    pub(crate) listen: Option<SocketAddr>,
    /// Whether it listens on TCP at all.
    pub(crate) tcp: Option<bool>,
    /// The socket for programs of the same user.
    pub(crate) socket: Option<PathBuf>,
    /// Certificate chain, a PEM file.
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key, a PEM file.
    pub(crate) tls_key: Option<PathBuf>,
    /// Host names by which it may be asked for besides its own.
    pub(crate) hosts: Vec<String>,
    /// Origins whose pages may ask besides its own.
    pub(crate) origins: Vec<String>,
    /// Proxies in front of it, by address or network.
    pub(crate) proxies: Vec<IpNet>,
    /// Calls that run at once.
    pub(crate) calls_at_once: Option<usize>,
    /// Calls that wait for their turn.
    pub(crate) calls_waiting: Option<usize>,
    /// Runs that are at work at once.
    pub(crate) runs_at_once: Option<usize>,
    /// Runs of one client among them.
    pub(crate) runs_of_client: Option<usize>,
    /// Whether another person has to decide than the one who asked: the owner is one person on all
    /// surfaces, each token is another. It holds for the daemon and for `toolcrib approve`.
    pub(crate) four_eyes: Option<bool>,
    /// Requests of one client in a minute.
    pub(crate) requests_per_minute: Option<u32>,
    /// Tries of one address without a token that holds, in a minute.
    pub(crate) failures_per_minute: Option<u32>,
    /// Bytes of a body.
    pub(crate) body_bytes: Option<usize>,
    /// How long calls and runs may go on after it was told to stop.
    #[serde(deserialize_with = "deserialize::duration")]
    pub(crate) drain: Option<Duration>,
}

impl ServerSection {
    /// What is wrong with the section as a whole, if anything is.
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

    /// Certificate chain and key, from this folder on.
    pub(crate) fn tls(&self, resolved: impl Fn(&Path) -> PathBuf) -> Option<(PathBuf, PathBuf)> {
        Some((resolved(self.tls_cert.as_deref()?), resolved(self.tls_key.as_deref()?)))
    }
}
