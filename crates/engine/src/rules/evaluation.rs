//! Evaluation of a call by rules.

use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{RuleRef, Verdict};

/// The input of rules: a call, real or hypothetical.
#[derive(Debug, Clone, Copy)]
pub struct RuleQuery<'a> {
    /// The operation that policy evaluates: `tool` or `tool.action`.
    pub operation: &'a str,
    /// Canonical name of the tool.
    pub tool: &'a str,
    /// The final arguments.
    pub args: &'a Value,
    /// Agent that makes the call; empty for none.
    pub agent: &'a str,
    /// Channel of the call.
    pub channel: &'a str,
    /// Workspace folder; relative paths of arguments start there. Empty for none.
    pub workspace: &'a str,
    /// Current time in milliseconds since 1970, because rules expire.
    pub now_ms: i64,
}

/// Evaluation of one part of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SegmentEvaluation {
    /// The part as written.
    pub text: String,
    /// Verdict of the rules; `None` if no rule applies.
    pub verdict: Option<Verdict>,
    /// The rule that decides.
    pub rule: Option<RuleRef>,
    /// Reason: skipped wrappers, and why no allow rule can cover the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Evaluation of a call by rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// Verdict; `None` if no rule applies and the default decides.
    pub verdict: Option<Verdict>,
    /// The rule that decides.
    pub rule: Option<RuleRef>,
    /// Whether the call always asks: no rule, preset or grant allows it.
    pub always_asks: bool,
    /// Reason for the verdict.
    pub reason: String,
    /// Parts of a command line, in order; empty for other calls.
    pub segments: Vec<SegmentEvaluation>,
}
