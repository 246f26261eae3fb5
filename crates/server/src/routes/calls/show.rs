//! One call: its state, and its result by its id.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::CallId;
use toolcrib_ops::Resource;
use toolcrib_ops::calls::{self, CallDocument, ShowCallRequest};

use super::start::parse_wait;
use crate::api::{Json, Path, Query, parse_id};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// The time to wait for its end.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ShowCallQuery {
    /// Milliseconds to wait while this daemon runs the call, at most 600,000; default 0.
    #[schemars(range(max = 600_000))]
    wait_ms: Option<u64>,
}

pub(super) async fn show_call(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(call): Path<String>,
    Query(query): Query<ShowCallQuery>,
) -> Result<Json<CallDocument>, Problem> {
    let call: CallId = parse_id(Resource::Call, &call)?;
    let wait = parse_wait(query.wait_ms)?;
    let active = daemon.active_requests().get(call);
    let active = active.filter(|active| active.owner == principal.owner);
    if let (Some(wait), Some(active)) = (wait, active) {
        // If the wait times out, the response shows the current state of the call.
        let _ = tokio::time::timeout(wait, active.over.cancelled()).await;
    }
    let ctx = daemon.store_context(&principal);
    daemon.require_call(&principal, call).await?;
    Ok(Json(calls::show(&ctx, ShowCallRequest { call }).await?))
}
