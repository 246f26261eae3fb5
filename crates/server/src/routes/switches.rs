//! Switches that turn tools, groups, sources, tiers and features off or on, or make them ask.
//! Running work obeys them from its next step.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use toolcrib_agent::library::Library;
use toolcrib_app::SwitchTarget;
use toolcrib_ops::switches::{
    self, ListSwitchesRequest, ResetSwitchRequest, SetSwitchBody, SetSwitchRequest, SwitchRow,
    canonical_target,
};
use toolcrib_ops::{OpContext, OpError, Resource, StoreContext};

use crate::api::{Api, Json, Operation, Page, Path, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Owner of the switches: the only owner.
pub(super) const OWNER: &str = "";

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/switches", Role::Viewer, "Lists everything that can be switched.");
    let list = list.description("A group, source, tier or feature that is off leaves the switches of its tools alone: when it comes back, each is as it was.");
    api.add(list.returns_ok::<Page<SwitchRow>>("By name.").etagged(), list_switches);
    let set = Operation::put(
        "/switches/{name}",
        Role::Operator,
        "Sets a switch: off, on, or ask about every call.",
    );
    let set = set.description("In force from the next step of every call, also in active runs, and on other daemons within 100 ms. `PUT /kill-switch` stops all tools at once.");
    api.add(
        set.body::<SetSwitchBody>().returns_ok::<SwitchRow>("The setting is in force."),
        set_switch,
    );
    let reset = Operation::delete(
        "/switches/{name}",
        Role::Operator,
        "Removes a setting: the default applies again.",
    );
    api.add(
        reset.returns_ok::<SwitchRow>("The default is in force, also if there was no setting."),
        reset_switch,
    );
}

async fn list_switches(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let rows = switches::list(
        &context(&daemon, &principal, &daemon.runner().library()),
        ListSwitchesRequest,
    )
    .await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

/// Returns the context of operations on switches. They belong to the machine, whichever owner the
/// token has.
fn context<'a>(
    daemon: &'a DaemonState,
    principal: &'a Principal,
    library: &'a Library,
) -> OpContext<'a> {
    let ctx = daemon.op_context(principal, Some(library));
    OpContext { store: StoreContext { owner: OWNER, ..ctx.store }, ..ctx }
}

fn parse_target(name: &str) -> Result<SwitchTarget, Problem> {
    SwitchTarget::parse(name).ok_or_else(|| OpError::not_found(Resource::Switch, name).into())
}

/// Checks that a token that is limited to some tools switches only those tools, and nothing that
/// affects others.
fn check_tool_limit(
    daemon: &DaemonState,
    principal: &Principal,
    target: &SwitchTarget,
) -> Result<(), Problem> {
    let tools = daemon.allowed_tools(principal);
    if tools.is_unlimited() {
        return Ok(());
    }
    let target =
        canonical_target(&context(daemon, principal, &daemon.runner().library()), target.clone())?;
    match &target {
        SwitchTarget::Tool(name) => tools.require(name),
        other => tools.require(&other.name()),
    }
}

async fn set_switch(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Json(body): Json<SetSwitchBody>,
) -> Result<Json<SwitchRow>, Problem> {
    let request = SetSwitchRequest { target: parse_target(&name)?, state: body.state };
    check_tool_limit(&daemon, &principal, &request.target)?;
    let row =
        switches::set(&context(&daemon, &principal, &daemon.runner().library()), request).await?;
    daemon.run_supervisor().publish_switch(&row);
    Ok(Json(row))
}

async fn reset_switch(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<SwitchRow>, Problem> {
    let request = ResetSwitchRequest { target: parse_target(&name)? };
    check_tool_limit(&daemon, &principal, &request.target)?;
    let row = switches::reset(&context(&daemon, &principal, &daemon.runner().library()), request)
        .await?
        .switch;
    daemon.run_supervisor().publish_switch(&row);
    Ok(Json(row))
}
