//! The settings of a daemon.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::telemetry::Telemetry;

/// Where a daemon listens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listen {
    /// TCP address; port 0 = any free one. `None` = only the socket.
    pub tcp: Option<SocketAddr>,
    /// Unix socket, for its owner only (mode 0600). `None` = only TCP.
    pub unix: Option<PathBuf>,
    /// Certificate chain and key, PEM files. Without them, only loopback addresses are accepted.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Allowed values of the Host header, with or without a port, besides `localhost`, `127.0.0.1`
    /// and `[::1]` with its port.
    pub hosts: Vec<String>,
    /// Allowed origins of pages besides its own; none by default.
    pub origins: Vec<String>,
    /// Proxies in front of it, by address or network: their forwarding headers are trusted, and
    /// without TLS only they may connect to an address that is not loopback.
    pub proxies: Vec<IpNet>,
}

/// The settings of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonSettings {
    /// Where it listens.
    pub listen: Listen,
    /// Folder of its token file and address file. No tool can access it.
    pub folder: PathBuf,
    /// Calls that run at once; further ones wait in a queue that is fair between clients.
    pub calls_at_once: usize,
    /// Calls that may wait; further ones are answered 429.
    pub calls_waiting: usize,
    /// Runs that are active at once; further ones are answered 503. Runs that are resumed after a
    /// decision are never refused.
    pub runs_at_once: usize,
    /// Runs of one client among them; further ones are answered 429.
    pub runs_of_client: usize,
    /// Whether a principal may not decide about its own requests (four-eyes principle).
    pub four_eyes: bool,
    /// Time between two scans for abandoned runs and for questions that other processes decided.
    pub recovery_interval: Duration,
    /// Requests of one client per minute.
    pub requests_per_minute: u32,
    /// Requests with invalid tokens from one network per minute.
    pub failed_logins_per_minute: u32,
    /// Bytes of a body, unless an operation has another limit.
    pub body_bytes: usize,
    /// Connections at once, of all clients; fewer if the system allows fewer open files.
    pub max_connections: usize,
    /// Connections of one client among them, and never more than half.
    pub max_connections_per_client: usize,
    /// Connections of one address on which no token was shown yet; beyond that, the oldest is
    /// evicted.
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
    /// How long calls and runs may continue after the daemon was told to stop; then calls are
    /// cancelled and runs are stored as they are.
    pub drain: Duration,
    /// Its version, as its documents have it.
    pub version: String,
    /// Kind of the store, as `/status` has it: `memory`, `sqlite` or `postgres`.
    pub store: &'static str,
    /// Whether daemons of other machines may use the store: the kill switch then waits until they
    /// have read it.
    pub store_is_shared: bool,
    /// Metrics and spans; calls are recorded by the stores of [`Telemetry::instrument_stores`].
    pub telemetry: Telemetry,
}

impl DaemonSettings {
    /// Loopback on any free port, files in this folder, defaults for the rest.
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
