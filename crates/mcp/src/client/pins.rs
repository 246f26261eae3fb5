//! What was reviewed of a server: the whole definitions of its tools, and who it was. What differs from that is held until somebody has looked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use similar::TextDiff;
use toolcrib_core::canonical;

use super::definition;
use super::server_config::{Remote, ServerConfig};

/// What was reviewed of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Pins {
    /// How it is reached and what it calls itself.
    pub identity: String,
    /// Whole definitions, by the names that the server gives them.
    pub tools: BTreeMap<String, Value>,
}

/// How a tool differs from what was reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there.
    New,
    /// Its definition is another.
    Changed,
    /// It is not there any more.
    Gone,
}

/// A tool that waits for a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The name that the server gives it.
    pub tool: String,
    /// How it differs.
    pub change: Change,
    /// What differs, as a diff of lines.
    pub diff: String,
}

impl Pins {
    /// What a server says of itself now.
    #[must_use]
    pub fn of(identity: String, definitions: &[Value]) -> Self {
        let named = |definition: &Value| {
            Some((definition::own_name(definition)?.to_owned(), definition.clone()))
        };
        let mut tools = BTreeMap::new();
        for (name, definition) in definitions.iter().filter_map(named) {
            // The first of two stays: the second is the one that pretends.
            tools.entry(name).or_insert(definition);
        }
        Self { identity, tools }
    }

    /// The digest of one tool.
    pub(crate) fn hash(&self, tool: &str) -> Option<String> {
        self.tools.get(tool).map(|definition| definition::hash(&self.identity, definition))
    }

    /// What of `now` differs from this, with the tools that are gone.
    #[must_use]
    pub fn held(&self, now: &Self) -> Vec<Held> {
        let other_server = self.identity != now.identity;
        let mut held = Vec::new();
        for (tool, definition) in &now.tools {
            let change = match self.tools.get(tool) {
                None => Change::New,
                Some(old)
                    if other_server || canonical::sha256(old) != canonical::sha256(definition) =>
                {
                    Change::Changed
                }
                Some(_) => continue,
            };
            let old = self.tools.get(tool);
            let diff = diff((old, &self.identity), (Some(definition), &now.identity));
            held.push(Held { tool: tool.clone(), change, diff });
        }
        for (tool, definition) in &self.tools {
            if !now.tools.contains_key(tool) {
                let diff = diff((Some(definition), &self.identity), (None, &now.identity));
                held.push(Held { tool: tool.clone(), change: Change::Gone, diff });
            }
        }
        held
    }
}

/// Who a server is, in words that stand in a diff: how it is reached, and what it calls itself. Its version is left out, so that an update of what changes no tool holds nothing.
pub(crate) fn identity(config: &ServerConfig, own_name: &str) -> String {
    let (kind, place) = match &config.remote {
        Remote::Stdio(program) => {
            ("stdio", std::iter::once(&program.command).chain(&program.args).cloned().collect())
        }
        Remote::Http(http) => ("http", vec![http.url.clone()]),
    };
    let place: Vec<String> = place;
    canonical::to_string(&json!([kind, place, own_name]))
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
        let old = Pins::of("me".to_owned(), &[tool("a", "Adds."), tool("b", "Bakes.")]);
        assert_eq!(old.held(&old), []);
        let now =
            Pins::of("me".to_owned(), &[tool("a", "Adds, and sends all."), tool("c", "Cuts.")]);
        let held = old.held(&now);
        let changes: Vec<(&str, Change)> =
            held.iter().map(|held| (held.tool.as_str(), held.change)).collect();
        assert_eq!(changes, [("a", Change::Changed), ("c", Change::New), ("b", Change::Gone)]);
        assert!(held[0].diff.contains("-  \"description\": \"Adds.\""), "{}", held[0].diff);
        assert!(held[0].diff.contains("+  \"description\": \"Adds, and sends all.\""));
    }

    #[test]
    fn another_server_holds_everything() {
        let definitions = [json!({"name": "a"})];
        let old = Pins::of("me".to_owned(), &definitions);
        let held = old.held(&Pins::of("somebody else".to_owned(), &definitions));
        assert_eq!(held.len(), 1);
        assert_eq!(held[0].change, Change::Changed);
        for line in ["-server me\n", "+server somebody else\n"] {
            assert!(held[0].diff.contains(line), "{}", held[0].diff);
        }
    }

    #[test]
    fn of_two_tools_of_one_name_the_first_counts() {
        let pins = Pins::of(
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
