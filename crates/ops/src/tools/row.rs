//! A tool in a list, with its state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_core::{Entry, Exclusion, Status, SwitchState, ToolInfo};

use super::numbers::ToolNumbers;
use crate::calls::serialized_name;

/// A tool in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRow {
    /// Canonical name.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Its source: `builtin`, a folder, a server.
    pub source: String,
    /// Its tier: `innate`, `first_party` or `interface`.
    pub tier: String,
    /// The group with which it is listed and switched.
    pub group: Option<String>,
    /// `system`, `available` (configuration is missing), `connected`, `disabled`, `offline` or
    /// `error`.
    pub status: String,
    /// Missing configuration.
    pub missing: Vec<String>,
    /// Why it is offline or broken, or else why it is not offered to this caller.
    pub reason: Option<String>,
    /// Whether it is enabled, taking into account the switches above it.
    pub enabled: bool,
    /// The state that applies to its calls, taking into account the switches above it.
    pub state: SwitchState,
    /// The state of its own switch, without the switches above it.
    pub own_state: SwitchState,
    /// The feature that controls it, for a tool without a separate switch.
    pub controlled_by: Option<String>,
    /// Whether this caller can call it.
    pub offered: bool,
    /// The reason if it is not offered: `because` is one word, followed by its details.
    #[schemars(with = "Option<Value>")]
    pub excluded: Option<Exclusion>,
    /// `safe`, `high` or `critical`: the highest risk of its calls.
    pub risk: String,
    /// Effect that determines the outcome after a crash, such as `side_effect`.
    pub effect: String,
    /// The permissions that it needs.
    pub permissions: Vec<String>,
    /// Where it is declared and run: `local`, `provider_defined` (a provider declares it) or
    /// `hosted` (a provider also runs it).
    pub kind: String,
    /// Estimated tokens of its declaration in every request that contains it.
    pub tokens: u64,
    /// Whether its server has a page that shows its results (MCP Apps): `/calls/{id}/page`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub page: bool,
    /// Match with the search, from 0 to about 1; null if it is only listed, or if it matches but is
    /// not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Metrics of its calls, if they were requested and it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<ToolNumbers>,
}

impl ToolRow {
    /// Creates the row of a tool for a caller that is not offered it for this reason, if there is
    /// one.
    pub(super) fn new(toolcrib: &Toolcrib, info: ToolInfo, excluded: Option<Exclusion>) -> Self {
        let entry = toolcrib.entry(info.id.as_str());
        let (missing, reason) = match &info.status {
            Status::Available { missing } => (missing.clone(), None),
            Status::Offline { reason } | Status::Error { reason } => {
                (Vec::new(), Some(reason.clone()))
            }
            Status::System | Status::Connected | Status::Disabled => (Vec::new(), None),
        };
        let spec = entry.as_ref().map(Entry::spec);
        let meta = spec.and_then(|spec| spec.meta.as_ref());
        Self {
            offered: excluded.is_none(),
            status: status_word(&info.status),
            missing,
            reason: reason.or_else(|| excluded.as_ref().map(ToString::to_string)),
            excluded,
            tier: info.tier.as_str().to_owned(),
            risk: spec.and_then(|spec| serialized_name(&spec.risk)).unwrap_or_default(),
            effect: spec.and_then(|spec| serialized_name(&spec.effect)).unwrap_or_default(),
            permissions: spec
                .iter()
                .flat_map(|s| &s.permissions)
                .map(ToString::to_string)
                .collect(),
            tokens: entry
                .as_ref()
                .map(|entry| toolcrib.declaration_tokens(entry))
                .unwrap_or_default(),
            kind: entry.as_ref().map(Entry::kind).unwrap_or_default().to_owned(),
            page: meta.is_some_and(|meta| meta.page().is_some()),
            name: info.id.to_string(),
            title: info.title,
            description: info.description,
            source: info.source,
            group: info.group,
            enabled: info.enabled,
            state: info.state,
            own_state: info.own_state,
            controlled_by: info.controlled_by,
            score: None,
            metrics: None,
        }
    }
}

fn status_word(status: &Status) -> String {
    json!(status).get("status").and_then(|word| word.as_str()).unwrap_or_default().to_owned()
}
