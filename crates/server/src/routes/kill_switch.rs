//! Routes of the kill switch.

use std::sync::Arc;

use axum::extract::State;
use toolcrib_core::SwitchStore;
use toolcrib_ops::OpError;
use toolcrib_ops::kill_switch::{
    self, EngageReply, KillSwitchContext, KillSwitchStatus, ReleaseRequest, StopBody, ToolProcess,
};

use crate::api::{Api, Json, Operation};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get("/kill-switch", Role::Viewer, "Shows the state of the kill switch.");
    api.add(show.returns_ok::<KillSwitchStatus>("The state of the kill switch."), show_switch);
    let pull = Operation::put(
        "/kill-switch",
        Role::Operator,
        "Engages the kill switch: stops all tools, on every daemon.",
    );
    let pull = pull.description("After the answer no call starts. The kill switch stays on until a person releases it, also across restarts; no model can reach this route.");
    api.add(pull.body::<StopBody>().returns_ok::<EngageReply>("No tool runs."), engage);
    let operation = Operation::delete("/kill-switch", Role::Operator, "Releases the kill switch.");
    api.add(
        operation.returns_ok::<KillSwitchStatus>(
            "The tools run again, as far as their own switches allow.",
        ),
        release,
    );
}

async fn show_switch(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<KillSwitchStatus>, Problem> {
    let open_store = || Ok(Arc::clone(&daemon.stores().switches));
    Ok(Json(kill_switch::show(&context(&daemon, &principal, &open_store)).await?))
}

fn context<'a>(
    daemon: &'a DaemonState,
    principal: &'a Principal,
    open_store: &'a (dyn Fn() -> Result<Arc<dyn SwitchStore>, OpError> + Sync),
) -> KillSwitchContext<'a> {
    let store_is_shared = daemon.settings().store_is_shared;
    KillSwitchContext {
        file: daemon.toolcrib().kill_switch(),
        open_store,
        actor: &principal.name,
        process: Some(ToolProcess { toolcrib: daemon.toolcrib(), store_is_shared }),
    }
}

async fn engage(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<StopBody>,
) -> Result<Json<EngageReply>, Problem> {
    let open_store = || Ok(Arc::clone(&daemon.stores().switches));
    let ctx = context(&daemon, &principal, &open_store);
    let reply = kill_switch::engage(&ctx, body.into()).await.inspect_err(
        |error| tracing::error!(%error, "the kill switch could not be engaged as a whole"),
    )?;
    if let Some(error) = &reply.file_error {
        tracing::error!(error, "the file of the kill switch could not be written");
    }
    daemon.run_supervisor().publish_switch(&reply.switch);
    Ok(Json(reply))
}

async fn release(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<KillSwitchStatus>, Problem> {
    let open_store = || Ok(Arc::clone(&daemon.stores().switches));
    let ctx = context(&daemon, &principal, &open_store);
    let switch = kill_switch::release(&ctx, ReleaseRequest::default()).await?.switch;
    daemon.run_supervisor().publish_switch(&switch);
    Ok(Json(switch))
}
