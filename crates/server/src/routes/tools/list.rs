//! The list of tools.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_core::{Entry, Status, ToolInfo, View};
use toolcrib_ops::calls::serialized_name;
use toolcrib_ops::switches::SwitchMode;

use super::show::ToolNumbers;
use crate::active_requests::view_request_for;
use crate::api::{Page, Query, etag_response};
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

/// Number of tools that are found: the default, and the maximum.
const FOUND: usize = 5;
const MOST_FOUND: usize = 100;

/// What is told beside.
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

/// A tool in a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(super) struct ToolRow {
    /// Canonical name.
    pub(super) name: String,
    /// Name for people.
    title: String,
    /// What it does.
    description: String,
    /// Where it comes from: `builtin`, a folder, a server.
    source: String,
    /// Tier: `innate`, `first_party` or `interface`.
    tier: String,
    /// Group it is listed and switched with.
    group: Option<String>,
    /// `system`, `available` (configuration is missing), `connected`, `disabled`, `offline` or
    /// `error`.
    status: String,
    /// Configuration that is missing.
    missing: Vec<String>,
    /// Why it is offline or broken.
    reason: Option<String>,
    /// Whether it is on, and everything above it too.
    enabled: bool,
    /// The state that applies to its calls now, with the switches of its group, source and tier.
    state: SwitchMode,
    /// The state of its own switch, without the switches above it.
    own_state: SwitchMode,
    /// The feature that switches it, for a tool without a switch of its own.
    controlled_by: Option<String>,
    /// Whether this token can call it.
    offered: bool,
    /// `safe`, `high` or `critical`: the worst that a call can be.
    risk: String,
    /// Its effect, such as `side_effect`: decides what a crash during a call means.
    effect: String,
    /// What the host must have granted.
    permissions: Vec<String>,
    /// Who declares and who runs it: `local`, `provider_defined` (a provider declares it) or
    /// `hosted` (a provider runs it too).
    kind: String,
    /// About how many tokens its declaration costs in every request that carries it.
    tokens: u64,
    /// Whether its server has a page that shows its results (MCP Apps): `/calls/{id}/page`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    page: bool,
    /// How well it matches the need, 0 to about 1; null if it is only listed, or matches and is not
    /// ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
    /// How its calls went, when that was asked for and it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metrics: Option<ToolNumbers>,
}

pub(super) fn row(daemon: &DaemonState, info: ToolInfo, view: &View) -> ToolRow {
    let entry = daemon.toolcrib().entry(info.id.as_str());
    let (missing, reason) = match &info.status {
        Status::Available { missing } => (missing.clone(), None),
        Status::Offline { reason } | Status::Error { reason } => (Vec::new(), Some(reason.clone())),
        Status::System | Status::Connected | Status::Disabled => (Vec::new(), None),
    };
    let offered = view.find(info.id.as_str()).is_some_and(|entry| entry.spec().name == info.id);
    let spec = entry.as_ref().map(Entry::spec);
    ToolRow {
        offered: offered && daemon.toolcrib().engine().tools_enabled(),
        status: status_word(&info.status),
        missing,
        reason,
        tier: info.tier.as_str().to_owned(),
        risk: spec.and_then(|spec| serialized_name(&spec.risk)).unwrap_or_default(),
        effect: spec.and_then(|spec| serialized_name(&spec.effect)).unwrap_or_default(),
        permissions: spec.iter().flat_map(|s| &s.permissions).map(ToString::to_string).collect(),
        tokens: entry
            .as_ref()
            .map(|entry| daemon.toolcrib().declaration_tokens(entry))
            .unwrap_or_default(),
        kind: entry.as_ref().map(Entry::kind).unwrap_or_default().to_owned(),
        page: spec.and_then(|spec| spec.meta.as_ref()).is_some_and(|meta| meta.page().is_some()),
        name: info.id.to_string(),
        title: info.title,
        description: info.description,
        source: info.source,
        group: info.group,
        enabled: info.enabled,
        state: info.state.into(),
        own_state: info.own_state.into(),
        controlled_by: info.controlled_by,
        score: None,
        metrics: None,
    }
}

fn status_word(status: &Status) -> String {
    json!(status).get("status").and_then(|word| word.as_str()).unwrap_or_default().to_owned()
}

pub(super) async fn list(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let view = daemon.toolcrib().catalog().view(&Arc::new(view_request_for(&principal)));
    let infos = daemon.toolcrib().infos();
    let mut rows: Vec<ToolRow> = infos.into_iter().map(|info| row(&daemon, info, &view)).collect();
    if let Some(need) = query.find {
        rows = search_tools(&daemon, &principal, need, query.limit.unwrap_or(FOUND), rows).await?;
    }
    if query.metrics == Some(true) {
        let metrics = daemon.stores().history.metrics(&principal.owner, query.since).await?;
        let payloads = principal.sees_payloads();
        let mut metrics: HashMap<String, ToolNumbers> = metrics
            .into_iter()
            .map(|one| (one.tool.clone(), ToolNumbers::of(one, payloads)))
            .collect();
        for row in &mut rows {
            row.metrics = metrics.remove(&row.name);
        }
    }
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

/// The rows of the tools that do what is needed.
async fn search_tools(
    daemon: &DaemonState,
    principal: &Principal,
    need: String,
    limit: usize,
    rows: Vec<ToolRow>,
) -> Result<Vec<ToolRow>, Problem> {
    if !(1..=MOST_FOUND).contains(&limit) {
        return Err(Problem::invalid(format!("limit is from 1 to {MOST_FOUND}")));
    }
    let (toolcrib, view) = (daemon.toolcrib().clone(), Arc::new(view_request_for(principal)));
    // The first search makes the index.
    let sought = toolcrib.search_tools(&view, &need, limit).await.map_err(|error| {
        let why = error.detail.unwrap_or(error.message);
        Problem::new(Code::Internal, format!("tools cannot be searched, see `[discovery]`: {why}"))
    })?;
    let mut rows: HashMap<String, ToolRow> =
        rows.into_iter().map(|row| (row.name.clone(), row)).collect();
    let usable = sought.usable.into_iter().take(limit);
    let usable = usable.map(|(entry, score)| (entry.spec().name.to_string(), Some(score)));
    let waiting = sought.not_ready.into_iter().map(|(name, _)| (name.to_string(), None));
    let found = usable.chain(waiting).filter_map(|(name, score)| {
        let row = rows.remove(&name)?;
        Some(ToolRow { score, ..row })
    });
    Ok(found.collect())
}
