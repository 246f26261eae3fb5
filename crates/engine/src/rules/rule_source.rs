//! A rule as written in a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::Verdict;

/// One rule of a TOML file, a table of `[[rules]]`, or of a request over REST (docs/rules.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RuleBody")]
pub struct RuleText {
    /// Effect: `allow`, `ask` or `deny`.
    pub effect: Verdict,
    /// Target: `Tool` or `Tool(specifier)`, such as `Bash(git push:*)`.
    pub rule: String,
    /// Agents to which it applies; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Channels to which it applies (`chat`, `message`, `background`, `external-agent`); empty for
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Workspace folders to which it applies; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
    /// Reason for the rule, shown wherever it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Calls that it must match, checked when it is loaded: the text inside the parentheses of a
    /// rule.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Calls that it must not match, checked when it is loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
    /// Expiry: a date (`2027-01-31`, the end of that day in UTC) or a time with its zone (RFC
    /// 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The author confirms that the rule allows more than it seems to: an allow rule that would be
    /// refused as dangerous is accepted.
    #[serde(default, rename = "unsafe", skip_serializing_if = "std::ops::Not::not")]
    pub is_unsafe: bool,
    /// The rule does not decide yet: `rules list` counts the past calls that it would have decided,
    /// and `rules replay` shows them.
    #[serde(default, rename = "observe", skip_serializing_if = "std::ops::Not::not")]
    pub is_observed: bool,
}

impl RuleText {
    /// Creates a rule without options.
    #[must_use]
    pub fn new(effect: Verdict, rule: impl Into<String>) -> Self {
        Self {
            effect,
            rule: rule.into(),
            agents: Vec::new(),
            channels: Vec::new(),
            workspaces: Vec::new(),
            reason: None,
            matches: Vec::new(),
            not_match: Vec::new(),
            expires: None,
            is_unsafe: false,
            is_observed: false,
        }
    }
}

/// Owner of a rule, stronger ones first. The strictest verdict wins in every layer; the layer
/// determines who may loosen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Rules of the operator of the machine.
    Managed,
    /// Rules of the person.
    User,
    /// Rules of a workspace that the person trusts.
    Project,
    /// Rules of an untrusted workspace: its allow rules have no effect.
    Untrusted,
}

/// A rule with its file and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSource {
    /// The rule.
    pub text: RuleText,
    /// Layer of the rule.
    pub layer: Layer,
    /// Location: `PATH:LINE`.
    pub origin: String,
}

/// Why a rule is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {rule}: {what}")]
pub struct RuleError {
    /// Location.
    pub origin: String,
    /// The rule as written.
    pub rule: String,
    /// The problem, and the correct spelling.
    pub what: String,
}
