//! The status of the daemon, in numbers.

use axum::extract::State;
use toolcrib_app::SwitchTarget;
use toolcrib_core::{Clock as _, Origin, SystemClock};
use toolcrib_ops::status::{CallCounts, DaemonStatus};

use super::switches::OWNER;
use crate::api::{Api, Json, Operation};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let status = Operation::get("/status", Role::Viewer, "Shows the status of the daemon.");
    api.add(status.returns_ok::<DaemonStatus>("The current figures."), show_status);
}

async fn show_status(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<DaemonStatus>, Problem> {
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
    Ok(Json(DaemonStatus {
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
