//! The settings of a daemon.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::telemetry::Telemetry;

/// The addresses that a daemon listens on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listen {
    /// TCP address; port 0 selects any free port. `None` disables TCP.
    pub tcp: Option<SocketAddr>,
    /// Unix socket, for its owner only (mode 0600). `None` disables the socket.
    pub unix: Option<PathBuf>,
    /// Certificate chain and key, PEM files. Without them, only loopback addresses are accepted.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Allowed values of the Host header, with or without a port, besides `localhost`, `127.0.0.1`
    /// and `[::1]` with the daemon's port.
    pub hosts: Vec<String>,
    /// Allowed origins of pages besides the daemon's own; none by default.
    pub origins: Vec<String>,
    /// Proxies in front of the daemon, by address or network: their forwarding headers are trusted,
    /// and without TLS only they may connect to an address other than loopback.
    pub proxies: Vec<IpNet>,
}

/// The settings of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonSettings {
    /// Addresses to listen on.
    pub listen: Listen,
    /// Folder of the token file and the address file. Tools cannot access it.
    pub folder: PathBuf,
    /// Maximum number of calls that run at once; further ones wait in a queue that is fair between
    /// clients.
    pub calls_at_once: usize,
    /// Maximum number of waiting calls; further ones are answered 429.
    pub calls_waiting: usize,
    /// Maximum number of active runs; further ones are answered 503. Runs that are resumed after a
    /// decision are never refused.
    pub runs_at_once: usize,
    /// Maximum number of active runs of one client; further ones are answered 429.
    pub runs_of_client: usize,
    /// Whether a principal may not decide about its own requests (four-eyes principle).
    pub four_eyes: bool,
    /// Interval of scans for abandoned runs and for questions that other processes decided.
    pub recovery_interval: Duration,
    /// Maximum number of requests of one client per minute.
    pub requests_per_minute: u32,
    /// Maximum number of requests with invalid tokens from one network per minute.
    pub failed_logins_per_minute: u32,
    /// Maximum number of bytes of a body, unless an operation has another limit.
    pub body_bytes: usize,
    /// Maximum number of connections of all clients; fewer if the system allows fewer open files.
    pub max_connections: usize,
    /// Maximum number of connections of one client, and never more than half of all.
    pub max_connections_per_client: usize,
    /// Maximum number of connections of one address that have not sent a token; beyond that, the
    /// oldest is evicted.
    pub max_unauthenticated_per_address: usize,
    /// Timeout of the head of a request, and of an idle connection.
    pub head_timeout: Duration,
    /// Idle timeout of a body; the whole body may take ten times as long.
    pub body_idle_timeout: Duration,
    /// Idle time of an event stream after which a comment is sent, so that no proxy closes the
    /// connection.
    pub ping_interval: Duration,
    /// Lifetime of a session of the page.
    pub session_lifetime: Duration,
    /// Time for which calls and runs may continue after the daemon was told to stop; afterwards,
    /// calls are cancelled and runs are stored in their current state.
    pub drain: Duration,
    /// Version of the daemon in its documents.
    pub version: String,
    /// Kind of the store in `/status`: `memory`, `sqlite` or `postgres`.
    pub store: &'static str,
    /// Whether daemons of other machines may use the store: the kill switch then waits until they
    /// have read it.
    pub store_is_shared: bool,
    /// Metrics and spans; the stores of [`Telemetry::instrument_stores`] record calls.
    pub telemetry: Telemetry,
}

impl DaemonSettings {
    /// Creates settings with any free port on loopback, files in this folder, and defaults for the
    /// other fields.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let tcp = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        Self {
            listen: Listen { tcp, ..Listen::default() },
            folder: folder.into(),
            calls_at_once: 512,
            calls_waiting: 10_000,
            runs_at_once: 64,
            runs_of_client: 16,
            four_eyes: false,
            recovery_interval: Duration::from_secs(1),
            requests_per_minute: 6_000,
            failed_logins_per_minute: 10,
            body_bytes: 1024 * 1024,
            max_connections: 20_000,
            max_connections_per_client: 8_000,
            max_unauthenticated_per_address: 256,
            head_timeout: Duration::from_secs(30),
            body_idle_timeout: Duration::from_secs(30),
            ping_interval: Duration::from_secs(15),
            session_lifetime: Duration::from_hours(12),
            drain: Duration::from_secs(30),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            store: "memory",
            store_is_shared: true,
            telemetry: Telemetry::default(),
        }
    }
}
