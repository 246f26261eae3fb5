//! Previews the calls that a remembered approval would match, before it is given.

use std::collections::BTreeMap;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::Decision;
use toolcrib_ops::approvals::GrantScopeName;
use toolcrib_ops::grants::{self, GrantPreviewDocument, PreviewGrantRequest};

use super::find_approval;
use crate::api::{Json, Path};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// An approval that is to be remembered: the fields of the decision with their meaning there.
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

pub(super) async fn preview(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(PreviewApprovalBody { scope, only, taint }): Json<PreviewApprovalBody>,
) -> Result<Json<GrantPreviewDocument>, Problem> {
    let (waiting, _) = find_approval(&daemon, &principal, &id).await?;
    let decision = Decision::Approve { scope: scope.of_grant(), only, taint };
    let request = PreviewGrantRequest { question: &waiting.request, decision: &decision };
    let found = grants::preview(&daemon.store_context(&principal), request).await?;
    Ok(Json(found.document()?))
}
