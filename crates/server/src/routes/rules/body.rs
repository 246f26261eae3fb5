//! Rules as they are sent and shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_app::rules::{Layer, RuleSource, RuleText};
use toolcrib_core::Verdict;

use crate::problem::Problem;

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Effect {
    /// It may run.
    Allow,
    /// A person decides.
    Ask,
    /// It must not run.
    Deny,
}

impl From<Verdict> for Effect {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Allow,
            Verdict::Ask => Self::Ask,
            Verdict::Deny => Self::Deny,
        }
    }
}

impl From<Effect> for Verdict {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Allow => Self::Allow,
            Effect::Ask => Self::Ask,
            Effect::Deny => Self::Deny,
        }
    }
}

/// A rule as it is written (docs/rules.md).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleBody {
    /// What it says.
    effect: Effect,
    /// Its pattern: `Tool` or `Tool(specifier)`, such as `Bash(git push:*)`.
    rule: String,
    /// Agents that it applies to; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    agents: Vec<String>,
    /// Channels that it applies to (`chat`, `background`, `external-agent`); empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    channels: Vec<String>,
    /// Workspace folders that it applies to; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    workspaces: Vec<String>,
    /// Its reason: shown wherever it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Calls that it must match: checked before it is accepted.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    matches: Vec<String>,
    /// Calls that it must not match: checked before it is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_match: Vec<String>,
    /// When it ends: a date, or a time with its zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// That its author knows that it allows more than it seems to.
    #[serde(default, rename = "unsafe", skip_serializing_if = "std::ops::Not::not")]
    is_unsafe: bool,
    /// Whether it is only observed and decides nothing: `POST /rules/replay` shows what it would
    /// have decided.
    #[serde(default, rename = "observe", skip_serializing_if = "std::ops::Not::not")]
    is_observed: bool,
}

impl From<RuleText> for RuleBody {
    fn from(text: RuleText) -> Self {
        let RuleText { effect, rule, agents, channels, workspaces, reason, .. } = text;
        let RuleText { matches, not_match, expires, is_unsafe, is_observed, .. } = text;
        let effect = effect.into();
        Self {
            effect,
            rule,
            agents,
            channels,
            workspaces,
            reason,
            matches,
            not_match,
            expires,
            is_unsafe,
            is_observed,
        }
    }
}

impl From<RuleBody> for RuleText {
    fn from(body: RuleBody) -> Self {
        let RuleBody { effect, rule, agents, channels, workspaces, reason, .. } = body;
        let RuleBody { matches, not_match, expires, is_unsafe, is_observed, .. } = body;
        let effect = effect.into();
        Self {
            effect,
            rule,
            agents,
            channels,
            workspaces,
            reason,
            matches,
            not_match,
            expires,
            is_unsafe,
            is_observed,
        }
    }
}

/// Rules of one request, their examples included. Each rule is compared with those about the same
/// calls, and each example with its rule: 1 MiB of them would take seconds.
const MAX_RULES_AND_EXAMPLES: usize = 2_000;

impl RuleBody {
    /// Refuses more rules than are checked in one request.
    pub(super) fn check_count(rules: &[Self]) -> Result<(), Problem> {
        let count = |rule: &Self| 1 + rule.matches.len() + rule.not_match.len();
        if rules.iter().map(count).sum::<usize>() <= MAX_RULES_AND_EXAMPLES {
            return Ok(());
        }
        let detail = format!(
            "a request has at most {MAX_RULES_AND_EXAMPLES} rules and examples; send several requests"
        );
        Err(Problem::invalid(detail))
    }
}

/// A rule with its file and number.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct RuleRow {
    /// Its number in the list, from 1.
    number: usize,
    /// The rule.
    #[serde(flatten)]
    rule: RuleBody,
    /// Whose it is: `managed`, `user`, `project`, or `untrusted` (of a workspace that is not
    /// trusted).
    layer: String,
    /// Where it is written: `PATH:LINE`.
    origin: String,
    /// Whether it has any effect: allow rules of an untrusted workspace have none.
    counts: bool,
}

fn row(number: usize, rule: &RuleSource) -> RuleRow {
    let RuleSource { text, layer, origin } = rule;
    RuleRow {
        number,
        rule: text.clone().into(),
        layer: json!(layer).as_str().unwrap_or_default().to_owned(),
        origin: origin.clone(),
        counts: *layer != Layer::Untrusted || text.effect != Verdict::Allow,
    }
}

pub(super) fn numbered(rules: &[RuleSource]) -> Vec<RuleRow> {
    rules.iter().enumerate().map(|(at, rule)| row(at + 1, rule)).collect()
}
