//! Usage of models and tools.

use axum::extract::State;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::usage::{self as ops, UsageDocument, UsageRequest, UsageRows};

use crate::api::{Api, Json, Operation, Page, Query};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Grouping of usage.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum By {
    /// By provider and model.
    #[default]
    Model,
    /// By agent.
    Agent,
    /// By tool: calls and time; tokens are counted for models only.
    Tool,
    /// By day of `zone`, the oldest first.
    Day,
}

/// Filters and grouping of usage.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct UsageQuery {
    /// `model`, `agent`, `tool` or `day`; default `model`.
    by: By,
    /// Time zone of the days, such as `Europe/Berlin`; default that of the daemon.
    zone: Option<String>,
    /// Only usage at or after this time, in milliseconds since 1970.
    since: Option<i64>,
    /// Only usage before this time, in milliseconds since 1970.
    until: Option<i64>,
}

pub(super) fn routes(api: &mut Api) {
    let usage = Operation::get("/usage", Role::Viewer, "Sums tokens, cost and calls.");
    api.add(
        usage
            .query::<UsageQuery>()
            .returns_ok::<Page<UsageDocument>>("The rows with the most requests or calls first; days in their order, without days without usage."),
        show_usage,
    );
}

async fn show_usage(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<UsageQuery>,
) -> Result<Json<Page<UsageDocument>>, Problem> {
    let by = match query.by {
        By::Model => UsageRows::Model,
        By::Agent => UsageRows::Agent,
        By::Tool => UsageRows::Tool,
        By::Day => UsageRows::Day(zone(query.zone.as_deref())?),
    };
    let request = UsageRequest { by, since: query.since, until: query.until };
    let reply = ops::usage(&daemon.store_context(&principal), request).await?;
    Ok(Json(Page::single_page(reply.totals.iter().map(UsageDocument::from).collect())))
}

fn zone(name: Option<&str>) -> Result<TimeZone, Problem> {
    let Some(name) = name else { return Ok(TimeZone::system()) };
    TimeZone::get(name).map_err(|_| {
        Problem::invalid(format!("there is no time zone {name}; write one such as Europe/Berlin"))
    })
}
