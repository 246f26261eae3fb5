//! The stored information on one call, as JSON.

use axum::extract::State;
use toolcrib_core::CallId;
use toolcrib_ops::Resource;
use toolcrib_ops::calls::{self, ExplainCallRequest, ExplainedCall};

use crate::api::{Json, Path, parse_id};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

pub(super) async fn explain(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(call): Path<String>,
) -> Result<Json<ExplainedCall>, Problem> {
    let call: CallId = parse_id(Resource::Call, &call)?;
    let ctx = daemon.store_context(&principal);
    daemon.require_call(&principal, call).await?;
    let reply = calls::explain(&ctx, ExplainCallRequest { call }).await?;
    Ok(Json(ExplainedCall::from(&reply)))
}
