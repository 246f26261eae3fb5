//! A rule as it is written in a file.

use serde::{Deserialize, Serialize};
use toolcrib_core::Verdict;

/// One rule, as `[[rules]]` of a TOML file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// What it says: `allow`, `ask` or `deny`.
    pub effect: Verdict,
    /// What it is about: `Tool` or `Tool(specifier)`, such as `Bash(git push:*)`.
    pub rule: String,
    /// Agents it holds for; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Channels it holds for (`chat`, `background`, `external-agent`); empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Workspace folders it holds for; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
    /// Why it is there: shown wherever it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Calls that it must match, checked when it is loaded: the text inside the brackets of a rule.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Calls that it must not match, checked when it is loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
    /// When it ends: a date (`2027-01-31`, the end of that day in UTC) or a time with its zone (RFC
    /// 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// That the author knows that it allows more than it seems to: an allow rule that would be
    /// refused as dangerous is taken.
    #[serde(default, rename = "unsafe", skip_serializing_if = "std::ops::Not::not")]
    pub is_unsafe: bool,
    /// That the rule decides nothing yet: `rules list` counts the past calls that it would have
    /// decided, and `rules replay` shows them.
    #[serde(default, rename = "observe", skip_serializing_if = "std::ops::Not::not")]
    pub is_observed: bool,
}

/// Whose rule it is: stronger ones first. The strictest verdict wins in every layer; the layer says
/// who may loosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Of the operator of the machine.
    Managed,
    /// Of the person.
    User,
    /// Of a workspace that the person trusts.
    Project,
    /// Of an untrusted workspace: its allow rules have no effect.
    Untrusted,
}

/// A rule with its file and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSource {
    /// The rule.
    pub text: RuleText,
    /// Whose it is.
    pub layer: Layer,
    /// Where it is written: `PATH:LINE`.
    pub origin: String,
}

/// Why a rule cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {rule}: {what}")]
pub struct RuleError {
    /// Where it is written.
    pub origin: String,
    /// The rule as it is written.
    pub rule: String,
    /// What is wrong with it, and the spelling that works.
    pub what: String,
}
