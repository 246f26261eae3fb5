//! One tool: its definition, its configuration, and metrics of its calls.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::tools::{self, ToolNumbers};

use crate::active_requests::view_request_for;
use crate::api::{Json, Path, Query, etag_response};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// The period of the metrics.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MetricsQuery {
    /// Only calls received at or after this time, in milliseconds since 1970; default all.
    since: Option<i64>,
}

pub(super) async fn show(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let ctx = daemon.op_context(&principal, None);
    let document = tools::show(&ctx, &name, &view_request_for(&principal))?;
    Ok(etag_response(&headers, &document))
}

pub(super) async fn metrics(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Query(query): Query<MetricsQuery>,
) -> Result<Json<ToolNumbers>, Problem> {
    let ctx = daemon.op_context(&principal, None);
    Ok(Json(tools::numbers(&ctx, &name, query.since).await?))
}
