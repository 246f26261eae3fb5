//! What rules say of a call.

use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{RuleRef, Verdict};

/// The call as rules see it. It need not be one that was ever made.
#[derive(Debug, Clone, Copy)]
pub struct RuleQuery<'a> {
    /// The operation that policy names: `tool` or `tool.action`.
    pub operation: &'a str,
    /// Canonical name of the tool.
    pub tool: &'a str,
    /// The final arguments.
    pub args: &'a Value,
    /// Agent that calls; empty = none.
    pub agent: &'a str,
    /// Channel of the call.
    pub channel: &'a str,
    /// Workspace folder; relative paths of arguments start there. Empty = none.
    pub workspace: &'a str,
    /// Now, in milliseconds since 1970: rules expire.
    pub now_ms: i64,
}

/// What rules say of one part of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SegmentEvaluation {
    /// The part, as it is written.
    pub text: String,
    /// What rules say; `None` = no rule speaks of it.
    pub verdict: Option<Verdict>,
    /// The rule that says so.
    pub rule: Option<RuleRef>,
    /// Why, in words: what was looked past, and why no allow rule can cover it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// What they say; `None` = no rule speaks, and the default decides.
    pub verdict: Option<Verdict>,
    /// The rule that decides.
    pub rule: Option<RuleRef>,
    /// Whether the call always asks: no rule, preset or grant allows it.
    pub always_asks: bool,
    /// Why, in words.
    pub reason: String,
    /// Parts of a command line, in their order; empty for other calls.
    pub segments: Vec<SegmentEvaluation>,
}
