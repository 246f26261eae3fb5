//! The status of a daemon, in numbers. The server supplies it, because only its process knows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::store::Member;

/// The status of the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Status")]
pub struct DaemonStatus {
    /// Its version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// Seconds since it started.
    pub up_seconds: u64,
    /// Whether it is stopping and accepts no new work.
    pub stopping: bool,
    /// The kind of its store: `memory`, `sqlite` or `postgres`.
    pub store: String,
    /// The workspace folder; absent if there is none.
    pub workspace: Option<String>,
    /// Whether tools can run: the kill switch is not engaged, neither by its row nor by its file.
    pub tools_enabled: bool,
    /// Number of switches that are set, including the kill switch.
    pub switches: usize,
    /// Number of tools.
    pub tools: usize,
    /// Number of enabled tools.
    pub tools_on: usize,
    /// A number that grows with every change of the tools.
    pub generation: u64,
    /// Calls of all owners.
    pub calls: CallCounts,
    /// Number of active runs on this daemon.
    pub runs: usize,
    /// Number of questions of this owner that a person has to decide.
    pub approvals_pending: usize,
    /// The daemons that share the store, the oldest first; absent if the store is not shared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<DaemonRow>,
}

/// A daemon that shares the store. Times are from the clock of the database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonRow {
    /// Name of its machine.
    pub host: String,
    /// Its process id on that machine.
    pub pid: u64,
    /// Its version.
    pub version: String,
    /// When it opened the store, in milliseconds since 1970.
    pub started_at: i64,
    /// When it last renewed its lease, in milliseconds since 1970.
    pub heartbeat_at: i64,
    /// Whether its lease is valid. Other daemons take over the work of a daemon whose lease has
    /// expired; it is listed for a day.
    pub alive: bool,
}

impl From<Member> for DaemonRow {
    fn from(member: Member) -> Self {
        let Member { host, pid, version, started_at, heartbeat_at, is_alive, .. } = member;
        Self { host, pid, version, started_at, heartbeat_at, alive: is_alive }
    }
}

/// Figures on calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallCounts {
    /// Calls that run on this daemon.
    pub running: usize,
    /// Calls that this daemon accepted and that have not ended, including running ones.
    pub open: u64,
    /// Requests in the queue.
    pub queued: usize,
    /// Slots in use, of `places`.
    pub held: usize,
    /// Number of slots (`calls_at_once`).
    pub places: usize,
    /// Calls received since the daemon started.
    pub received: u64,
}
