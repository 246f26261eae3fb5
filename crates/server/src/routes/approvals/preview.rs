//! Previews the calls that a remembered approval would match, before it is given.

use std::collections::BTreeMap;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::{Decision, GrantScope};
use toolcrib_ops::OpError;
use toolcrib_ops::approvals::GrantScopeName;
use toolcrib_ops::calls::{CallSummary, serialized_name};
use toolcrib_ops::grants::{self, NoGrant, PreviewError, PreviewGrantRequest, SCAN_LIMIT};

use super::find_approval;
use crate::api::{Json, Path};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Maximum number of listed past calls, the newest.
const MAX_LISTED: usize = 20;

/// An approval to remember: the fields have the same meaning as in the decision.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewApprovalBody {
    /// Duration: `run`, `conversation` or `always`.
    scope: GrantScopeName,
    /// Required values of arguments, by name: a glob for each.
    #[serde(default)]
    only: BTreeMap<String, String>,
    /// Whether the approval also applies to runs that have read untrusted text.
    #[serde(default)]
    taint: bool,
}

/// The calls that a remembered approval would match.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct GrantPreviewDocument {
    /// The operation, exactly.
    operation: String,
    /// The highest risk that the approval covers.
    risk: String,
    /// The reasons for asking that the approval covers.
    reasons: Value,
    /// Whether a run that has read untrusted text still asks.
    leaves_taint: bool,
    /// Number of past calls that the approval would have matched.
    matched: usize,
    /// Number of past calls that were compared, the newest.
    compared: usize,
    /// Whether there are older calls, which were not compared.
    truncated: bool,
    /// The newest 20 matching calls.
    calls: Vec<CallSummary>,
}

pub(super) async fn preview(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(PreviewApprovalBody { scope, only, taint }): Json<PreviewApprovalBody>,
) -> Result<Json<GrantPreviewDocument>, Problem> {
    let (waiting, _) = find_approval(&daemon, &principal, &id).await?;
    if !principal.sees_payloads() {
        return Err(OpError::Denied("you may not see arguments".to_owned()).into());
    }
    let scope = scope.of_grant();
    if scope == GrantScope::Once {
        return Err(Problem::invalid(
            "an approval of scope once is not remembered; say run, conversation or always",
        ));
    }
    let decision = Decision::Approve { scope, only, taint };
    let request = PreviewGrantRequest { question: &waiting.request, decision: &decision };
    let found = grants::preview(&daemon.store_context(&principal), request).await;
    let found = found.map_err(problem)?;
    let past = found.past_calls?;
    let listed = past.calls.iter().take(MAX_LISTED);
    Ok(Json(GrantPreviewDocument {
        operation: found.grant.operation,
        risk: serialized_name(&found.grant.risk).unwrap_or_default(),
        reasons: json!(found.grant.reasons),
        leaves_taint: found.leaves_taint,
        matched: past.calls.len(),
        compared: SCAN_LIMIT,
        truncated: past.truncated,
        calls: listed.map(|row| CallSummary::new(row, None)).collect(),
    }))
}

fn problem(error: PreviewError) -> Problem {
    match error {
        PreviewError::NoGrant(NoGrant::AlwaysAsks) => {
            Problem::conflict("it is a call that always asks; it can be approved once only")
        }
        PreviewError::NoGrant(NoGrant::OnlyTaint) => Problem::conflict(
            "it is asked only because of what its run has read; a remembered approval answers that only with `taint`",
        ),
        PreviewError::OtherCall => {
            Problem::invalid("the patterns in `only` do not match this call itself; loosen them")
        }
        PreviewError::NoSuchScope(what) => {
            Problem::invalid(format!("the call belongs to no {what}; choose another scope"))
        }
    }
}
