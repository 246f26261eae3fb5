//! References to rules, verdicts and rulings, as shown by every interface. The engine parses and
//! evaluates rules.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict of a rule, or of policy as a whole. Ordered from mildest to strictest, so that the
/// larger one wins (deny > ask > allow).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Effect", description = "The verdict of a rule.")]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// A person decides.
    Ask,
    /// The call must not run.
    Deny,
}

impl Verdict {
    /// All verdicts, mildest first.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Returns the name in files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|verdict| verdict.as_str() == text)
            .ok_or_else(|| format!("\"{text}\" is not a verdict; use allow, ask or deny"))
    }
}

/// A rule as shown together with its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RuleRef {
    /// Its verdict.
    pub effect: Verdict,
    /// The rule as written, such as `Bash(git push:*)`.
    pub rule: String,
    /// Where it is defined: `PATH:LINE`, or the name of its provider.
    pub origin: String,
    /// Reason, as given by the rule's author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RuleRef {
    /// Returns the rule with its location and reason, for use as a name in a sentence: `Bash(rm:*)
    /// (rules.toml:9)`.
    #[must_use]
    pub fn named(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{} ({}{reason})", self.rule, self.origin)
    }
}

impl fmt::Display for RuleRef {
    /// Formats one line: `deny Bash(git push:*) (rules.toml:12: pushing leaves this machine)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({}", self.effect, self.rule, self.origin)?;
        if let Some(reason) = &self.reason {
            write!(f, ": {reason}")?;
        }
        f.write_str(")")
    }
}

/// The part of policy that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// A rule.
    Rule,
    /// A permission of the host.
    Permission,
    /// The taint labels of the run.
    Taint,
    /// The owner's setting for the tool: `[tools.NAME] ask`.
    Tool,
    /// A switch of the tool or its group in state `ask`.
    Switch,
    /// The preset, by risk: no rule applied.
    Preset,
    /// A custom gate of the host.
    Gate,
}

/// The policy's combined result for one call. It is part of the report, the record and the question
/// of every call that reached policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ruling {
    /// The verdict.
    pub verdict: Verdict,
    /// The part of policy that decided.
    pub by: Decider,
    /// The rule, if a rule decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// Reason, for people.
    pub reason: Cow<'static, str>,
}
