//! Reviewed definitions of a server: its complete tool definitions and its identity. Later
//! differences are held until a person has reviewed them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use similar::TextDiff;
use toolcrib_core::canonical_json;

use super::definition_judgement::{Finding, judge};
use super::server_config::{Pin, Remote, ServerConfig};
use super::tool_definition;

/// The reviewed state of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReviewedTools {
    /// The server's address or command, and the name that it reports.
    pub identity: String,
    /// Complete definitions in their wire form, by the server's own tool names.
    pub tools: BTreeMap<String, Value>,
    /// The version that the server reports.
    #[serde(default)]
    pub version: String,
    /// SHA-256 of the files of its program; `None`: it has none, or they were not read.
    #[serde(default)]
    pub program: Option<String>,
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
    /// Parts of the current definition that a reviewer should see.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

impl ReviewedTools {
    /// Creates the current state of a server.
    #[must_use]
    pub fn from_definitions(identity: String, definitions: &[Value]) -> Self {
        let named = |definition: &Value| {
            Some((tool_definition::own_name(definition)?.to_owned(), definition.clone()))
        };
        let mut tools = BTreeMap::new();
        for (name, definition) in definitions.iter().filter_map(named) {
            // If two tools have the same name, the first one is used; the second may be an
            // impostor.
            tools.entry(name).or_insert(definition);
        }
        Self { identity, tools, ..Self::default() }
    }

    /// Returns the same state with another list of definitions.
    pub(crate) fn with_definitions(&self, definitions: &[Value]) -> Self {
        let Self { identity, version, program, .. } = self.clone();
        Self { version, program, ..Self::from_definitions(identity, definitions) }
    }

    /// Returns the digest of one tool's definition and everything else that is pinned.
    #[must_use]
    pub fn hash(&self, tool: &str, pin: Pin) -> Option<String> {
        let definition = self.tools.get(tool)?;
        let own = tool_definition::hash(&self.identity, definition);
        Some(match pin {
            Pin::Definition => own,
            Pin::Program => {
                let program = self.program.as_deref().unwrap_or_default();
                canonical_json::sha256_parts(&[&own, &self.version, program])
            }
        })
    }

    /// Describes how the version or the program differs from this state, for the owner.
    #[must_use]
    pub fn program_change(&self, now: &Self) -> Option<String> {
        if self.tools.is_empty() {
            return None;
        }
        let mut changes = Vec::new();
        // States of earlier versions have no server version.
        if self.version != now.version && !self.version.is_empty() {
            let shown = |text: &str| toolcrib_core::display_text::escape_to_line(text);
            changes.push(format!(
                "it reports the version {}, and reported {} when it was reviewed",
                shown(&now.version),
                shown(&self.version)
            ));
        }
        if self.program != now.program && self.program.is_some() {
            changes.push("the files of its program have changed since it was reviewed".to_owned());
        }
        (!changes.is_empty()).then(|| changes.join("; "))
    }

    /// Returns the findings for each tool, by its own name; most tools have none.
    #[must_use]
    pub fn findings(&self) -> BTreeMap<&str, Vec<Finding>> {
        let own = self.names();
        let of = |(tool, definition)| (String::as_str(tool), judge(definition, &own));
        self.tools.iter().map(of).filter(|(_, found)| !found.is_empty()).collect()
    }

    fn names(&self) -> BTreeSet<&str> {
        self.tools.keys().map(String::as_str).collect()
    }

    /// Returns how a tool of `now` differs from this state.
    fn change(&self, now: &Self, tool: &str, definition: &Value, pin: Pin) -> Option<ToolChange> {
        match self.tools.get(tool) {
            None => Some(ToolChange::New),
            Some(old)
                if self.is_other_server(now, pin)
                    || old != definition
                        && canonical_json::sha256(old) != canonical_json::sha256(definition) =>
            {
                Some(ToolChange::Changed)
            }
            Some(_) => None,
        }
    }

    fn is_other_server(&self, now: &Self, pin: Pin) -> bool {
        self.identity != now.identity || pin == Pin::Program && self.program_change(now).is_some()
    }

    /// Returns whether anything of `now` differs from this state.
    #[must_use]
    pub fn differs(&self, now: &Self, pin: Pin) -> bool {
        let mut all = now.tools.iter();
        all.any(|(tool, definition)| self.change(now, tool, definition, pin).is_some())
            || self.tools.keys().any(|tool| !now.tools.contains_key(tool))
    }

    /// Returns the differences of `now` from this state, including removed tools.
    #[must_use]
    pub fn pending_reviews(&self, now: &Self, pin: Pin) -> Vec<PendingReview> {
        // Computed once for all tools: a server may have thousands.
        let own = now.names();
        let mut held = Vec::new();
        for (tool, definition) in &now.tools {
            let Some(change) = self.change(now, tool, definition, pin) else { continue };
            let old = self.tools.get(tool);
            let diff = diff((old, &self.identity), (Some(definition), &now.identity));
            let findings = judge(definition, &own);
            held.push(PendingReview { tool: tool.clone(), change, diff, findings });
        }
        for (tool, definition) in &self.tools {
            if !now.tools.contains_key(tool) {
                let diff = diff((Some(definition), &self.identity), (None, &now.identity));
                let (change, findings) = (ToolChange::Gone, Vec::new());
                held.push(PendingReview { tool: tool.clone(), change, diff, findings });
            }
        }
        held
    }
}

/// Returns the identity of a server as text for diffs: its address or command, and the name that it
/// reports. The version is omitted, so that an update that changes no tool needs no review.
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
        assert_eq!(old.pending_reviews(&old, Pin::Definition), []);
        let now = ReviewedTools::from_definitions(
            "me".to_owned(),
            &[tool("a", "Adds, and sends all."), tool("c", "Cuts.")],
        );
        let held = old.pending_reviews(&now, Pin::Definition);
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
        let now = ReviewedTools::from_definitions("somebody else".to_owned(), &definitions);
        let held = old.pending_reviews(&now, Pin::Definition);
        assert_eq!(held.len(), 1);
        assert_eq!(held[0].change, ToolChange::Changed);
        for line in ["-server me\n", "+server somebody else\n"] {
            assert!(held[0].diff.contains(line), "{}", held[0].diff);
        }
    }

    #[test]
    fn a_change_of_the_program_is_said_and_held_where_it_is_pinned() {
        let old = ReviewedTools {
            version: "1".to_owned(),
            program: Some("a".to_owned()),
            ..ReviewedTools::from_definitions("me".to_owned(), &[json!({"name": "a"})])
        };
        for now in [
            ReviewedTools { version: "2".to_owned(), ..old.clone() },
            ReviewedTools { program: Some("b".to_owned()), ..old.clone() },
        ] {
            assert!(old.program_change(&now).is_some());
            assert_eq!(old.pending_reviews(&now, Pin::Definition), []);
            assert_eq!(old.pending_reviews(&now, Pin::Program).len(), 1);
            assert_eq!(old.hash("a", Pin::Definition), now.hash("a", Pin::Definition));
            assert_ne!(old.hash("a", Pin::Program), now.hash("a", Pin::Program));
        }
        assert_eq!(old.program_change(&old), None);
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
