//! A rule in the format of clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{Layer, RuleSource, RuleText};
use toolcrib_core::Verdict;

use crate::error::OpError;

/// The verdict of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The call may run.
    Allow,
    /// A person decides.
    Ask,
    /// The call must not run.
    Deny,
}

impl Effect {
    /// Returns the name in files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Verdict::from(self).as_str()
    }
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

/// A rule as written (docs/rules.md).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleBody {
    /// Its verdict.
    pub effect: Effect,
    /// The matching calls: `Tool` or `Tool(specifier)`, such as `Bash(git push:*)`.
    pub rule: String,
    /// Agents to which it applies; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Channels to which it applies (`chat`, `message`, `background`, `external-agent`); empty =
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Workspace folders to which it applies; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
    /// The reason for the rule, shown with each of its decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Calls that it must match: checked before it is accepted.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Calls that it must not match: checked before it is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
    /// When it expires: a date, or a time with its zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Whether its author accepts that it allows more than it seems to.
    #[serde(default, rename = "unsafe", skip_serializing_if = "std::ops::Not::not")]
    pub is_unsafe: bool,
    /// Whether it is only observed and decides nothing: `POST /rules/replay` shows what it would
    /// have decided.
    #[serde(default, rename = "observe", skip_serializing_if = "std::ops::Not::not")]
    pub is_observed: bool,
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

/// Maximum number of rules and examples in one request. Each rule is compared with those about the
/// same calls, and each example with its rule: 1 MiB of them would take seconds.
const MAX_RULES_AND_EXAMPLES: usize = 2_000;

impl RuleBody {
    /// Refuses more rules than one request may contain.
    ///
    /// # Errors
    /// [`OpError::Invalid`], with the limit.
    pub fn check_count(rules: &[Self]) -> Result<(), OpError> {
        let count = |rule: &Self| 1 + rule.matches.len() + rule.not_match.len();
        if rules.iter().map(count).sum::<usize>() <= MAX_RULES_AND_EXAMPLES {
            return Ok(());
        }
        let detail = format!(
            "a request has at most {MAX_RULES_AND_EXAMPLES} rules and examples; send several requests"
        );
        Err(OpError::Invalid(detail))
    }
}

/// Returns the sources of rules that are in no file: `rules:NUMBER` gives their number in the
/// request.
#[must_use]
pub fn unwritten(rules: impl IntoIterator<Item = RuleText>) -> Vec<RuleSource> {
    let source =
        |(at, text)| RuleSource { text, layer: Layer::User, origin: format!("rules:{}", at + 1) };
    rules.into_iter().enumerate().map(source).collect()
}
