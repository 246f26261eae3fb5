//! Usage of models and tools.

use axum::extract::State;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::UsageTotals;
use toolcrib_ops::usage::{self as ops, UsageRequest, UsageRows};

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

/// A sum. A figure that was not reported is absent, which is not zero; where `unreported` or
/// `unpriced` is more than 0, the sums are lower bounds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UsageDocument {
    /// Model (`provider/model`), agent, tool, or day (`2026-03-29`).
    name: String,
    /// Answers of models; 0 for tools.
    requests: u64,
    /// Answers without token counts.
    unreported: u64,
    /// Answers without a known price.
    unpriced: u64,
    /// Tokens of requests.
    input_tokens: Option<u64>,
    /// Tokens of answers.
    output_tokens: Option<u64>,
    /// Tokens read from caches.
    cache_read_tokens: Option<u64>,
    /// Tokens written to caches.
    cache_write_tokens: Option<u64>,
    /// Tokens of reasoning.
    reasoning_tokens: Option<u64>,
    /// Estimated price in US dollars.
    cost_usd_estimate: Option<f64>,
    /// Calls of tools; absent where calls are not counted.
    calls: Option<u64>,
    /// Milliseconds that tools ran; absent where calls are not counted.
    run_ms: Option<f64>,
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
    Ok(Json(Page::single_page(reply.totals.into_iter().map(document).collect())))
}

fn zone(name: Option<&str>) -> Result<TimeZone, Problem> {
    let Some(name) = name else { return Ok(TimeZone::system()) };
    TimeZone::get(name).map_err(|_| {
        Problem::invalid(format!("there is no time zone {name}; write one such as Europe/Berlin"))
    })
}

fn document(sum: UsageTotals) -> UsageDocument {
    UsageDocument {
        name: sum.name,
        requests: sum.requests,
        unreported: sum.unreported,
        unpriced: sum.unpriced,
        input_tokens: sum.input,
        output_tokens: sum.output,
        cache_read_tokens: sum.cache_read,
        cache_write_tokens: sum.cache_write,
        reasoning_tokens: sum.reasoning,
        cost_usd_estimate: sum.cost_micros.map(|micros| micros as f64 / 1e6),
        calls: sum.calls,
        run_ms: sum.run_nanos.map(|nanos| nanos as f64 / 1e6),
    }
}
