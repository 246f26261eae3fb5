//! One tool: its definition, its configuration, how its calls went.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::ToolMetrics;
use toolcrib_ops::tools::{self, ConfigRow, find_tool};

use super::list::{ToolRow, row};
use super::lookup::info;
use crate::active_requests::view_request_for;
use crate::api::{Json, Path, Query, etag_response};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// A tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ToolDocument {
    /// Its state.
    #[serde(flatten)]
    row: ToolRow,
    /// JSON Schema of its arguments.
    input_schema: Value,
    /// JSON Schema of its data, when it promises any.
    output_schema: Option<Value>,
    /// Other names that mean it.
    aliases: Vec<String>,
    /// Sample calls: what a person would ask for, and the arguments.
    examples: Vec<Value>,
    /// Milliseconds that one attempt may take, as it is set up.
    timeout_ms: u64,
    /// Milliseconds that it declares itself.
    declared_timeout_ms: u64,
    /// Attempts of a call that may be repeated, the first one included.
    attempts: u32,
    /// How far a call reaches: `outbound`, `exec`, `private_read`.
    reach: Value,
    /// Whose words its results are: `tool`, `workspace` or `external`.
    trust: String,
    /// Its version.
    version: String,
    /// SHA-256 of the whole definition: approvals and records are bound to it.
    definition_hash: String,
    /// Values that it needs.
    config: Vec<ConfigRow>,
}

/// Since when calls count.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MetricsQuery {
    /// Only calls received at or after, milliseconds since 1970; default all.
    since: Option<i64>,
}

/// How the calls of a tool went.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ToolNumbers {
    /// Calls that ended.
    count: u64,
    /// Of these, those that succeeded.
    succeeded: u64,
    /// Failed.
    failed: u64,
    /// Ran out of time.
    timed_out: u64,
    /// Denied, expired or stopped: nothing that the tool did.
    not_run: u64,
    /// Ended as unknown.
    unknown: u64,
    /// Median time of the calls that ran, in milliseconds.
    p50_ms: Option<f64>,
    /// 95th percentile of the same.
    p95_ms: Option<f64>,
    /// The newest failure: type, words, time, call.
    last_error: Option<Value>,
    /// When the newest call was received, milliseconds since 1970.
    last_at: Option<i64>,
}

impl ToolNumbers {
    pub(crate) fn of(metrics: ToolMetrics, payloads: bool) -> Self {
        let millis = |nanos: u64| nanos as f64 / 1e6;
        let last_error = metrics.last_error.map(|last| {
            let words = payloads.then_some(last.message);
            json!({"error_type": last.error_type, "message": words, "at": last.at, "call": last.call})
        });
        Self {
            count: metrics.count,
            succeeded: metrics.succeeded,
            failed: metrics.failed,
            timed_out: metrics.timed_out,
            not_run: metrics.not_run,
            unknown: metrics.unknown,
            p50_ms: metrics.p50_nanos.map(millis),
            p95_ms: metrics.p95_nanos.map(millis),
            last_error,
            last_at: Some(metrics.last_at),
        }
    }
}

pub(super) async fn show(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let info = info(&daemon, &name)?;
    let spec = find_tool(daemon.toolcrib(), &name)?;
    let view = daemon.toolcrib().catalog().view(&Arc::new(view_request_for(&principal)));
    let settings = daemon.toolcrib().engine().settings();
    let own = settings.tools.get(spec.name.as_str()).and_then(|tool| tool.timeout);
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let document = ToolDocument {
        row: row(&daemon, info, &view),
        input_schema: Value::clone(&spec.input_schema),
        output_schema: spec.output_schema.as_deref().cloned(),
        aliases: spec.aliases.clone(),
        examples: spec.examples.iter().map(|example| json!(example)).collect(),
        timeout_ms: millis(own.unwrap_or(spec.timeout)),
        declared_timeout_ms: millis(spec.timeout),
        attempts: spec.attempts,
        reach: json!(spec.reach),
        trust: toolcrib_ops::calls::serialized_name(&spec.trust).unwrap_or_default(),
        version: spec.version.clone(),
        definition_hash: spec.definition_hash(),
        config: tools::config(daemon.toolcrib(), &spec),
    };
    Ok(etag_response(&headers, &document))
}

pub(super) async fn metrics(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Query(query): Query<MetricsQuery>,
) -> Result<Json<ToolNumbers>, Problem> {
    let all = daemon.stores().history.metrics(&principal.owner, query.since).await?;
    let spec = daemon.toolcrib().spec(&name);
    // A tool that is gone has had its calls all the same.
    let canonical = spec.as_ref().map_or(name.as_str(), |spec| spec.name.as_str());
    match all.into_iter().find(|one| one.tool == canonical) {
        Some(found) => Ok(Json(ToolNumbers::of(found, principal.sees_payloads()))),
        None => find_tool(daemon.toolcrib(), &name)
            .map(|_| Json(ToolNumbers::default()))
            .map_err(Into::into),
    }
}
