//! Tools: which there are, and how they stand.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::core::ToolInfo;

use crate::api::{Api, Operation, Page, etagged};
use crate::daemon::Daemon;
use crate::role::Role;

/// A tool in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ToolRow {
    /// Canonical name.
    name: String,
    /// Name for people.
    title: String,
    /// What it does.
    description: String,
    /// Where it comes from.
    source: String,
    /// Group it is listed with.
    group: Option<String>,
    /// `system`, `available`, `connected`, `disabled`, `offline` or `error`, with what belongs to it.
    status: Value,
    /// Whether it is switched on.
    enabled: bool,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/tools", Role::Viewer, "Lists the tools.");
    api.add(list.ok::<Page<ToolRow>>("All of them, whether switched on or not."), list_tools);
}

fn row(info: ToolInfo) -> ToolRow {
    ToolRow {
        name: info.id.to_string(),
        title: info.title,
        description: info.description,
        source: info.source,
        group: info.group,
        status: serde_json::to_value(&info.status).unwrap_or_default(),
        enabled: info.enabled,
    }
}

async fn list_tools(State(daemon): State<Daemon>, headers: HeaderMap) -> Response {
    let rows = daemon.toolcrib().infos().into_iter().map(row).collect();
    etagged(&headers, &Page::whole(rows))
}
