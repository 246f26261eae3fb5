//! The list of tools.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_app::core::{Status, ToolInfo, ToolSpec, View, defaults};

use super::show::ToolNumbers;
use crate::api::{Page, Query, etagged};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::Principal;
use crate::routes::calls::word;
use crate::routes::switches::Switching;
use crate::work::view_of;

/// What is told beside.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Whether `metrics` are told too; they are added up each time.
    metrics: Option<bool>,
    /// Only calls received at or after count for them, milliseconds since 1970; all of them when nobody says.
    since: Option<i64>,
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
    /// Place in the offering: `innate`, `first_party` or `interface`.
    tier: String,
    /// Group it is listed and switched with.
    group: Option<String>,
    /// `system`, `available` (configuration is missing), `connected`, `disabled`, `offline` or `error`.
    status: String,
    /// Configuration that is missing.
    missing: Vec<String>,
    /// Why it is offline or broken.
    reason: Option<String>,
    /// Whether it is on, and everything above it too.
    enabled: bool,
    /// What holds for calls of it now, with all that is above it.
    state: Switching,
    /// What its own switch says, whatever is above it.
    own_state: Switching,
    /// The feature that switches it, for a tool without a switch of its own.
    controlled_by: Option<String>,
    /// Whether this token can call it.
    offered: bool,
    /// `safe`, `high` or `critical`: the worst that a call can be.
    risk: String,
    /// What a crash in the middle of it means, such as `side_effect`.
    effect: String,
    /// What the host must have granted.
    permissions: Vec<String>,
    /// About how many tokens its declaration costs in every request that carries it.
    tokens: u64,
    /// How its calls went, when that was asked for and it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metrics: Option<ToolNumbers>,
}

pub(super) fn row(daemon: &Daemon, info: ToolInfo, view: &View) -> ToolRow {
    let spec = daemon.toolcrib().spec(info.id.as_str());
    let (missing, reason) = match &info.status {
        Status::Available { missing } => (missing.clone(), None),
        Status::Offline { reason } | Status::Error { reason } => (Vec::new(), Some(reason.clone())),
        Status::System | Status::Connected | Status::Disabled => (Vec::new(), None),
    };
    let offered = view.find(info.id.as_str()).is_some_and(|entry| entry.spec().name == info.id);
    let spec = spec.as_deref();
    ToolRow {
        offered: offered && daemon.toolcrib().engine().tools_enabled(),
        status: status_word(&info.status),
        missing,
        reason,
        tier: info.tier.as_str().to_owned(),
        risk: spec.and_then(|spec| word(&spec.risk)).unwrap_or_default(),
        effect: spec.and_then(|spec| word(&spec.effect)).unwrap_or_default(),
        permissions: spec.iter().flat_map(|s| &s.permissions).map(ToString::to_string).collect(),
        tokens: spec.map(tokens).unwrap_or_default(),
        name: info.id.to_string(),
        title: info.title,
        description: info.description,
        source: info.source,
        group: info.group,
        enabled: info.enabled,
        state: info.state.into(),
        own_state: info.own_state.into(),
        controlled_by: info.controlled_by,
        metrics: None,
    }
}

fn status_word(status: &Status) -> String {
    json!(status).get("status").and_then(|word| word.as_str()).unwrap_or_default().to_owned()
}

/// An estimate: providers count differently, and write declarations a little differently too.
fn tokens(spec: &ToolSpec) -> u64 {
    let declared = json!({
        "name": spec.name, "description": spec.description, "parameters": spec.input_schema,
    });
    (declared.to_string().len() as u64).div_ceil(defaults::CHARS_PER_TOKEN)
}

pub(super) async fn list(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let view = daemon.toolcrib().catalog().view(&Arc::new(view_of(&principal)));
    let infos = daemon.toolcrib().infos();
    let mut rows: Vec<ToolRow> = infos.into_iter().map(|info| row(&daemon, info, &view)).collect();
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
    Ok(etagged(&headers, &Page::whole(rows)))
}
