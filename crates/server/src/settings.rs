//! What a daemon is set up with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::observe::Observe;

/// Where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listen {
    /// TCP address; port 0 = any free one. `None` = only the socket.
    pub tcp: Option<SocketAddr>,
    /// Unix socket, for its owner alone (mode 0600). `None` = only TCP.
    pub unix: Option<PathBuf>,
    /// Certificate chain and key, PEM files. Without them only loopback addresses are taken.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Host names, with or without a port, by which it may be asked for beside `localhost`, `127.0.0.1` and `[::1]` with its port.
    pub hosts: Vec<String>,
    /// Origins whose pages may ask beside its own; none by default.
    pub origins: Vec<String>,
    /// Proxies that stand in front of it, by address or network: what they say of their clients is believed, and only they may connect
    /// where there is neither TLS nor loopback.
    pub proxies: Vec<IpNet>,
}

/// What a daemon is set up with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonSettings {
    /// Where it listens.
    pub listen: Listen,
    /// Folder of what a daemon keeps beside the database: its token file, its address file. Out of reach of every tool.
    pub folder: PathBuf,
    /// Calls that run at once; further ones wait their turn, client by client.
    pub calls_at_once: usize,
    /// Calls that may wait; further ones are answered 429.
    pub calls_waiting: usize,
    /// Runs that are at work at once; further ones are answered 503. Those that a person's decision lets go on are never refused.
    pub runs_at_once: usize,
    /// Runs of one client among them; further ones are answered 429.
    pub runs_of_client: usize,
    /// Whether nobody may decide about what was asked for with the own token (four-eyes principle).
    pub four_eyes: bool,
    /// Time between two looks at runs that were left behind and at questions that were decided elsewhere.
    pub look: Duration,
    /// Requests of one client in a minute.
    pub requests_per_minute: u32,
    /// Tries without a token that holds, from one address in a minute (SPEC 5.4: `/auth` 10 a minute).
    pub failures_per_minute: u32,
    /// Bytes of a body, except where an operation says otherwise.
    pub body_bytes: usize,
    /// Connections at once, of everybody together; fewer where the system allows fewer files.
    pub connections: usize,
    /// Connections of one client among them, and never more than half: others can always come in.
    pub connections_of_client: usize,
    /// Connections of one address that nobody has come with a token on yet; beyond that, the oldest make room.
    pub strangers: usize,
    /// Time for the head of a request, and between two of them.
    pub head_time: Duration,
    /// The longest silence in a body; all of it has ten times as long.
    pub body_silence: Duration,
    /// The longest silence of a stream: then a line that means nothing goes out, so that nothing between takes the connection for dead.
    pub ping: Duration,
    /// How long a session of the page lasts.
    pub session: Duration,
    /// How long calls and runs may go on after it was told to stop; then they are stored as they are.
    pub drain: Duration,
    /// Its version, as the documents say it.
    pub version: String,
    /// Where things are kept, as `/status` says it: `memory`, `sqlite` or `postgres`.
    pub store: &'static str,
    /// Figures and spans; its calls are those of the stores that it was given ([`Observe::of_calls`]).
    pub observe: Observe,
}

impl DaemonSettings {
    /// Loopback on any free port, its files in this folder, defaults for all else.
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
            look: Duration::from_secs(1),
            requests_per_minute: 6_000,
            failures_per_minute: 10,
            body_bytes: 1024 * 1024,
            connections: 20_000,
            connections_of_client: 8_000,
            strangers: 256,
            head_time: Duration::from_secs(30),
            body_silence: Duration::from_secs(30),
            ping: Duration::from_secs(15),
            session: Duration::from_hours(12),
            drain: Duration::from_secs(30),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            store: "memory",
            observe: Observe::default(),
        }
    }
}
