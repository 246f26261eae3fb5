//! How the daemon stands, in numbers.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::SwitchTarget;
use toolcrib_app::core::store::Member;
use toolcrib_app::core::{Clock as _, Origin, SystemClock};

use super::switches::OWNER;
use crate::api::{Api, Json, Operation};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// How the daemon stands.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Status {
    /// Its version.
    version: String,
    /// Its process.
    pid: u32,
    /// Seconds since it started.
    up_seconds: u64,
    /// Whether it was told to stop: it takes nothing new.
    stopping: bool,
    /// Where things are kept: `memory`, `sqlite` or `postgres`.
    store: String,
    /// The workspace folder; absent = there is none.
    workspace: Option<String>,
    /// Whether tools run at all: neither the kill switch nor its file is against it.
    tools_enabled: bool,
    /// Switches that are set, the kill switch among them.
    switches: usize,
    /// Tools that there are.
    tools: usize,
    /// Of these, those that are on.
    tools_on: usize,
    /// A number that grows with every change of the tools.
    generation: u64,
    /// Calls of all owners.
    calls: CallCounts,
    /// Runs at work on this daemon.
    runs: usize,
    /// Questions of this owner that a person has to decide.
    approvals_pending: usize,
    /// The daemons that share the store, the oldest first; absent = the store is not shared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    daemons: Vec<DaemonRow>,
}

/// A daemon that shares the store. Times are by the clock of the database.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct DaemonRow {
    /// Name of its machine.
    host: String,
    /// Its process on that machine.
    pid: u64,
    /// Its version.
    version: String,
    /// When it opened the store, in milliseconds since 1970.
    started_at: i64,
    /// When it last renewed its lease, in milliseconds since 1970.
    heartbeat_at: i64,
    /// Whether its lease still runs. Others take up the work of a daemon whose lease has run out;
    /// it is listed for a day.
    alive: bool,
}

impl From<Member> for DaemonRow {
    fn from(member: Member) -> Self {
        let Member { host, pid, version, started_at, heartbeat_at, is_alive, .. } = member;
        Self { host, pid, version, started_at, heartbeat_at, alive: is_alive }
    }
}

/// Calls in numbers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CallCounts {
    /// At work on this daemon.
    running: usize,
    /// Taken on this daemon and not ended, those at work among them.
    open: u64,
    /// Requests that wait for their turn.
    queued: usize,
    /// Places that are held, of `places`.
    held: usize,
    /// Places that there are (`calls_at_once`).
    places: usize,
    /// Received since the daemon started.
    received: u64,
}

pub(super) fn routes(api: &mut Api) {
    let status = Operation::get("/status", Role::Viewer, "Shows how the daemon stands.");
    api.add(status.returns_ok::<Status>("Numbers of now."), show_status);
}

async fn show_status(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<Status>, Problem> {
    let (toolcrib, settings) = (daemon.toolcrib(), daemon.settings());
    let engine = toolcrib.engine();
    let infos = toolcrib.infos();
    let crowd = daemon.call_queue().stats();
    let workspace = toolcrib.manual_batch(Vec::new(), Origin::Rest).context.workspace.clone();
    let set = daemon.stores().switches.switches(OWNER).await?;
    let known = set.iter().filter(|switch| SwitchTarget::parse(&switch.name).is_some());
    let (pending, now) = (daemon.stores().approvals.pending().await?, SystemClock.now_ms());
    let own =
        pending.iter().filter(|one| one.context.owner == principal.owner && !one.is_expired(now));
    Ok(Json(Status {
        version: settings.version.clone(),
        pid: std::process::id(),
        up_seconds: daemon.started_at().elapsed().as_secs(),
        stopping: daemon.shutdown_token().is_cancelled(),
        store: settings.store.to_owned(),
        workspace: Some(workspace).filter(|folder| !folder.is_empty()),
        tools_enabled: engine.tools_enabled(),
        switches: known.count(),
        tools: infos.len(),
        tools_on: infos.iter().filter(|info| info.enabled).count(),
        generation: toolcrib.catalog().generation(),
        calls: CallCounts {
            running: engine.running_calls().len(),
            open: engine.active_call_count(),
            queued: crowd.waiting,
            held: crowd.held,
            places: settings.calls_at_once,
            received: engine.received(),
        },
        runs: daemon.run_supervisor().active_count(),
        approvals_pending: own.count(),
        daemons: daemon.stores().monitor.members().await?.into_iter().map(Into::into).collect(),
    }))
}
