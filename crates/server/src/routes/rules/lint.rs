//! Checks rules before they are written: findings and examples.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{RuleSource, RuleText};
use toolcrib_ops::rules::{self, LintReply, TestReply};

use crate::api::{Json, run_cpu_bound};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Rules to check.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LintBody {
    /// Rules that are not written yet; absent = the rules in force.
    rules: Option<Vec<RuleText>>,
}

impl LintBody {
    fn into_sources(self, daemon: &DaemonState) -> Result<Vec<RuleSource>, Problem> {
        let Some(rules) = self.rules else {
            return Ok(daemon.toolcrib().rules().sources().to_vec());
        };
        rules::check_count(&rules)?;
        Ok(rules::unwritten(rules))
    }
}

pub(super) async fn lint_rules(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<LintBody>,
) -> Result<Json<LintReply>, Problem> {
    let (on, written) = (daemon.clone(), body.into_sources(&daemon)?);
    let work = async move { Ok(rules::lint(&written, &rules::known_tools(on.toolcrib()))) };
    Ok(Json(run_cpu_bound(&daemon, &principal.client, work).await?))
}

pub(super) async fn test_rules(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<LintBody>,
) -> Result<Json<TestReply>, Problem> {
    let written = body.into_sources(&daemon)?;
    let work = async move { Ok(rules::test(&written)) };
    Ok(Json(run_cpu_bound(&daemon, &principal.client, work).await?))
}
