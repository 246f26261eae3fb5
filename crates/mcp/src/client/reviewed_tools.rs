//! Reviewed definitions of a server: its complete tool definitions and its identity. Later
//! differences are held until a person has reviewed them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use similar::TextDiff;
use toolcrib_core::canonical_json;

use super::server_config::{Remote, ServerConfig};
use super::tool_definition;

/// The reviewed state of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReviewedTools {
    /// How it is reached and the name that it reports.
    pub identity: String,
    /// Complete definitions, by the server's own tool names.
    pub tools: BTreeMap<String, Value>,
}

/// How a tool differs from the reviewed state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChange {
    /// New.
    New,
    /// Its definition has changed.
    Changed,
    /// Removed.
    Gone,
}

/// A tool that waits for review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingReview {
    /// The server's own name of the tool.
    pub tool: String,
    /// The kind of difference.
    pub change: ToolChange,
    /// The difference as a line diff.
    pub diff: String,
}

impl ReviewedTools {
    /// The present state of a server.
    #[must_use]
    pub fn from_definitions(identity: String, definitions: &[Value]) -> Self {
        let named = |definition: &Value| {
            Some((tool_definition::own_name(definition)?.to_owned(), definition.clone()))
        };
        let mut tools = BTreeMap::new();
        for (name, definition) in definitions.iter().filter_map(named) {
            // Of two tools with one name the first stays; the second may be an impostor.
            tools.entry(name).or_insert(definition);
        }
        Self { identity, tools }
    }

    /// The digest of one tool's definition.
    pub(crate) fn hash(&self, tool: &str) -> Option<String> {
        self.tools.get(tool).map(|definition| tool_definition::hash(&self.identity, definition))
    }

    /// The differences of `now` from this state, including removed tools.
    #[must_use]
    pub fn pending_reviews(&self, now: &Self) -> Vec<PendingReview> {
        let other_server = self.identity != now.identity;
        let mut held = Vec::new();
        for (tool, definition) in &now.tools {
            let change = match self.tools.get(tool) {
                None => ToolChange::New,
                Some(old)
                    if other_server
                        || canonical_json::sha256(old) != canonical_json::sha256(definition) =>
                {
                    ToolChange::Changed
                }
                Some(_) => continue,
            };
            let old = self.tools.get(tool);
            let diff = diff((old, &self.identity), (Some(definition), &now.identity));
            held.push(PendingReview { tool: tool.clone(), change, diff });
        }
        for (tool, definition) in &self.tools {
            if !now.tools.contains_key(tool) {
                let diff = diff((Some(definition), &self.identity), (None, &now.identity));
                held.push(PendingReview { tool: tool.clone(), change: ToolChange::Gone, diff });
            }
        }
        held
    }
}

/// The identity of a server as text for diffs: how it is reached, and the name it reports. The
/// version is left out, so that an update that changes no tool needs no review.
pub(crate) fn identity(config: &ServerConfig, own_name: &str) -> String {
    let (kind, place) = match &config.remote {
        Remote::Stdio(program) => {
            ("stdio", std::iter::once(&program.command).chain(&program.args).cloned().collect())
        }
        Remote::Http(http) => ("http", vec![http.url.clone()]),
    };
    let place: Vec<String> = place;
    canonical_json::to_string(&json!([kind, place, own_name]))
}

fn diff(old: (Option<&Value>, &str), new: (Option<&Value>, &str)) -> String {
    let lines = |(definition, server): (Option<&Value>, &str)| {
        definition.map(|value| format!("server {server}\n{value:#}\n")).unwrap_or_default()
    };
    let (old, new) = (lines(old), lines(new));
    TextDiff::from_lines(&old, &new).unified_diff().context_radius(2).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_held() {
        let tool = |name: &str, words: &str| json!({"name": name, "description": words});
        let old = ReviewedTools::from_definitions(
            "me".to_owned(),
            &[tool("a", "Adds."), tool("b", "Bakes.")],
        );
        assert_eq!(old.pending_reviews(&old), []);
        let now = ReviewedTools::from_definitions(
            "me".to_owned(),
            &[tool("a", "Adds, and sends all."), tool("c", "Cuts.")],
        );
        let held = old.pending_reviews(&now);
        let changes: Vec<(&str, ToolChange)> =
            held.iter().map(|held| (held.tool.as_str(), held.change)).collect();
        assert_eq!(
            changes,
            [("a", ToolChange::Changed), ("c", ToolChange::New), ("b", ToolChange::Gone)]
        );
        assert!(held[0].diff.contains("-  \"description\": \"Adds.\""), "{}", held[0].diff);
        assert!(held[0].diff.contains("+  \"description\": \"Adds, and sends all.\""));
    }

    #[test]
    fn another_server_holds_everything() {
        let definitions = [json!({"name": "a"})];
        let old = ReviewedTools::from_definitions("me".to_owned(), &definitions);
        let held = old.pending_reviews(&ReviewedTools::from_definitions(
            "somebody else".to_owned(),
            &definitions,
        ));
        assert_eq!(held.len(), 1);
        assert_eq!(held[0].change, ToolChange::Changed);
        for line in ["-server me\n", "+server somebody else\n"] {
            assert!(held[0].diff.contains(line), "{}", held[0].diff);
        }
    }

    #[test]
    fn of_two_tools_of_one_name_the_first_counts() {
        let pins = ReviewedTools::from_definitions(
            "me".to_owned(),
            &[
                json!({"name": "a", "x": 1}),
                json!({"name": "a", "x": 2}),
                json!({"x": 3}),
                json!("no"),
            ],
        );
        assert_eq!(pins.tools["a"]["x"], 1);
        assert_eq!(pins.tools.len(), 1);
    }
}
