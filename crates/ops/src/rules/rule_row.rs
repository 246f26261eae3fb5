//! Lists rules, each with its position.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{Layer, RuleSource};
use toolcrib_core::Verdict;

/// A rule with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleRow {
    /// Its position in the list, from 1.
    pub number: usize,
    /// Its verdict.
    pub effect: Verdict,
    /// The matching calls: `Tool` or `Tool(specifier)`, such as `Bash(git push:*)`.
    pub rule: String,
    /// Its layer: `managed`, `user`, `project`, or `untrusted` (from an untrusted workspace).
    pub layer: String,
    /// Its position: `PATH:LINE`.
    pub origin: String,
    /// Agents to which it applies; empty = all.
    pub agents: Vec<String>,
    /// Channels to which it applies; empty = all.
    pub channels: Vec<String>,
    /// Workspace folders to which it applies; empty = all.
    pub workspaces: Vec<String>,
    /// The reason for the rule.
    pub reason: Option<String>,
    /// Calls that it must match.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Calls that it must not match.
    pub not_match: Vec<String>,
    /// When it expires: a date, or a time with its zone.
    pub expires: Option<String>,
    /// Whether its author accepts that it allows more than it seems to.
    #[serde(rename = "unsafe")]
    pub is_unsafe: bool,
    /// Whether it is only observed and decides nothing.
    #[serde(rename = "observe")]
    pub is_observed: bool,
    /// Whether it has any effect: allow rules of an untrusted workspace and rules that are only
    /// observed have none.
    pub counts: bool,
}

impl RuleRow {
    /// Creates the row of a rule with its number in a list, from 1.
    #[must_use]
    pub fn new(number: usize, rule: &RuleSource) -> Self {
        let RuleSource { text, layer, origin } = rule.clone();
        Self {
            number,
            effect: text.effect,
            rule: text.rule,
            layer: layer_word(layer).to_owned(),
            origin,
            agents: text.agents,
            channels: text.channels,
            workspaces: text.workspaces,
            reason: text.reason,
            matches: text.matches,
            not_match: text.not_match,
            expires: text.expires,
            is_unsafe: text.is_unsafe,
            is_observed: text.is_observed,
            counts: is_effective(rule),
        }
    }
}

/// Lists rules with their numbers, from 1, in the order of their files.
#[must_use]
pub fn list(rules: &[RuleSource]) -> Vec<RuleRow> {
    rules.iter().enumerate().map(|(at, rule)| RuleRow::new(at + 1, rule)).collect()
}

/// Returns the name of a layer.
#[must_use]
pub fn layer_word(layer: Layer) -> &'static str {
    match layer {
        Layer::Managed => "managed",
        Layer::User => "user",
        Layer::Project => "project",
        Layer::Untrusted => "untrusted",
    }
}

/// Returns whether a rule has any effect.
#[must_use]
pub fn is_effective(rule: &RuleSource) -> bool {
    let is_trusted = rule.layer != Layer::Untrusted || rule.text.effect != Verdict::Allow;
    is_trusted && !rule.text.is_observed
}
