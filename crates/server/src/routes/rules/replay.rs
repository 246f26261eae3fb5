//! Replays the history against changed rules.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rule_files::RulesError;
use toolcrib_app::rules::{Layer, RuleError, RuleSet, RuleText};
use toolcrib_ops::OpError;
use toolcrib_ops::rules::{self, ReplayReply, ReplayRequest, RuleBody};

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
    rules: Option<Vec<RuleBody>>,
}

pub(super) async fn replay_rules(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<ReplayBody>,
) -> Result<Json<ReplayReply>, Problem> {
    RuleBody::check_count(body.rules.as_deref().unwrap_or_default())?;
    let (on, client) = (daemon.clone(), principal.client.clone());
    let work = async move { replay(&on, &principal, body).await };
    Ok(Json(run_cpu_bound(&daemon, &client, work).await?))
}

async fn replay(
    daemon: &DaemonState,
    principal: &Principal,
    body: ReplayBody,
) -> Result<ReplayReply, Problem> {
    let before = daemon.toolcrib().rules();
    let after = match body.rules {
        Some(rules) => with_user_rules(&before, rules),
        None => before.with_observed().unwrap_or_else(|| Ok(before.clone())),
    };
    let after = after.map_err(|faults| OpError::from(RulesError::Refused(faults)))?;
    let ctx = daemon.op_context(principal, None);
    let preset = daemon.toolcrib().preset();
    let request = ReplayRequest { before: &before, after: &after, preset };
    Ok(rules::replay(&ctx, request).await?)
}

/// Returns the rules of all layers, with these instead of the user's own.
fn with_user_rules(before: &RuleSet, rules: Vec<RuleBody>) -> Result<RuleSet, Vec<RuleError>> {
    let others = before.sources().iter().filter(|rule| rule.layer != Layer::User).cloned();
    let changed = rules::unwritten(rules.into_iter().map(RuleText::from));
    RuleSet::compile(others.chain(changed).collect())
}
