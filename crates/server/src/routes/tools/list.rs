//! The list of tools.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::tools::{self, FindToolsRequest, ListToolsRequest};

use crate::active_requests::view_request_for;
use crate::api::{Page, Query, etag_response};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Options of the list.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Whether to include `metrics`, which are computed for each request.
    metrics: Option<bool>,
    /// Only calls received at or after this time count for `metrics`, in milliseconds since 1970;
    /// default all.
    since: Option<i64>,
    /// A need in plain words: lists only matching tools, best first, then matching tools that are
    /// not ready.
    find: Option<String>,
    /// The maximum number of tools found, 1 to 100; default 5.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

pub(super) async fn list(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let request = ListToolsRequest {
        caller: view_request_for(&principal),
        find: query.find.map(|need| FindToolsRequest { need, limit: query.limit }),
        metrics: (query.metrics == Some(true)).then_some(query.since),
    };
    let rows = tools::list(&daemon.op_context(&principal, None), request).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}
