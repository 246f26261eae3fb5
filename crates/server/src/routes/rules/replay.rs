//! Replays the history against changed rules.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{Layer, RuleText};
use toolcrib_ops::rules::{self, ReplayReply, ReplayRequest, RulesChange};

use crate::api::{Json, run_cpu_bound};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Changed rules.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReplayBody {
    /// Rules instead of the person's own file; absent = the rules in force, with observed rules
    /// deciding.
    rules: Option<Vec<RuleText>>,
}

pub(super) async fn replay_rules(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<ReplayBody>,
) -> Result<Json<ReplayReply>, Problem> {
    rules::check_count(body.rules.as_deref().unwrap_or_default())?;
    let (on, client) = (daemon.clone(), principal.client.clone());
    let work = async move { replay(&on, &principal, body).await };
    Ok(Json(run_cpu_bound(&daemon, &client, work).await?))
}

async fn replay(
    daemon: &DaemonState,
    principal: &Principal,
    body: ReplayBody,
) -> Result<ReplayReply, Problem> {
    let change = match body.rules {
        Some(rules) => RulesChange::Replace { layer: Layer::User, rules: rules::unwritten(rules) },
        None => RulesChange::EnforceObserved,
    };
    let in_force = daemon.toolcrib().rules();
    let request = ReplayRequest { in_force: &in_force, change, preset: daemon.toolcrib().preset() };
    Ok(rules::replay(&daemon.op_context(principal, None), request).await?)
}
