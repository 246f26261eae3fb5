//! How a daemon stands, in numbers. The server fills it in: only the process knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::store::Member;

/// The status of the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Status")]
pub struct DaemonStatus {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Seconds since it started.
    pub up_seconds: u64,
    /// Whether it is stopping and accepts nothing new.
    pub stopping: bool,
    /// The kind of its store: `memory`, `sqlite` or `postgres`.
    pub store: String,
    /// The workspace folder; absent = there is none.
    pub workspace: Option<String>,
    /// Whether tools run at all: neither the kill switch nor its file is against it.
    pub tools_enabled: bool,
    /// Switches that are set, the kill switch among them.
    pub switches: usize,
    /// Tools that there are.
    pub tools: usize,
    /// Of these, those that are on.
    pub tools_on: usize,
    /// A number that grows with every change of the tools.
    pub generation: u64,
    /// Calls of all owners.
    pub calls: CallCounts,
    /// Active runs on this daemon.
    pub runs: usize,
    /// Questions of this owner that a person has to decide.
    pub approvals_pending: usize,
    /// The daemons that share the store, the oldest first; absent = the store is not shared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<DaemonRow>,
}

/// A daemon that shares the store. Times are by the clock of the database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonRow {
    /// Name of its machine.
    pub host: String,
    /// Its process on that machine.
    pub pid: u64,
    /// Its version.
    pub version: String,
    /// When it opened the store, in milliseconds since 1970.
    pub started_at: i64,
    /// When it last renewed its lease, in milliseconds since 1970.
    pub heartbeat_at: i64,
    /// Whether its lease still runs. Others take up the work of a daemon whose lease has run out;
    /// it is listed for a day.
    pub alive: bool,
}

impl From<Member> for DaemonRow {
    fn from(member: Member) -> Self {
        let Member { host, pid, version, started_at, heartbeat_at, is_alive, .. } = member;
        Self { host, pid, version, started_at, heartbeat_at, alive: is_alive }
    }
}

/// Calls in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallCounts {
    /// At work on this daemon.
    pub running: usize,
    /// Calls that this daemon accepted and that have not ended, running calls included.
    pub open: u64,
    /// Requests in the queue.
    pub queued: usize,
    /// Places that are held, of `places`.
    pub held: usize,
    /// Places that there are (`calls_at_once`).
    pub places: usize,
    /// Received since the daemon started.
    pub received: u64,
}
