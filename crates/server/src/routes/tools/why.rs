//! Explains whether a tool is offered to a caller, and what excludes it otherwise.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::tools::{self, WhyReply, WhyRequest};

use crate::active_requests::view_request_for;
use crate::api::{Json, Path, Query};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// The caller to explain for.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WhyQuery {
    /// Name of an agent; absent = the caller, with this token.
    agent: Option<String>,
    /// Provider of the model, such as `anthropic`: some tools are offered to the models of one
    /// provider only.
    provider: Option<String>,
    /// Whether the model runs on this device, which limits its tools; default: false.
    on_device: bool,
}

pub(super) async fn why(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(tool): Path<String>,
    Query(query): Query<WhyQuery>,
) -> Result<Json<WhyReply>, Problem> {
    let caller = view_request_for(&principal);
    let request = WhyRequest {
        on_device: query.on_device,
        tool,
        agent: query.agent,
        provider: query.provider,
        caller,
    };
    let library = daemon.runner().library();
    let ctx = daemon.op_context(&principal, Some(&library));
    Ok(Json(tools::why(&ctx, request).await?))
}
