//! Rules as every part of policy and every surface names them. How they are read and judged is the engine's.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What a rule, or policy as a whole, says of a call: mildest first, so that the larger one wins (deny > ask > allow).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person decides.
    Ask,
    /// It must not run.
    Deny,
}

impl Verdict {
    /// All of them, mildest first.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// The wire name.
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
            .ok_or_else(|| format!("\"{text}\" is no verdict; use allow, ask or deny"))
    }
}

/// A rule as it is named wherever its verdict is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RuleRef {
    /// What it says.
    pub effect: Verdict,
    /// The rule as it is written, such as `Bash(git push:*)`.
    pub rule: String,
    /// Where it is written: `PATH:LINE`, or the name of what gave it.
    pub origin: String,
    /// Why it is there, in its author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl fmt::Display for RuleRef {
    /// One line: `deny Bash(git push:*) (rules.toml:12: pushing leaves this machine)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({}", self.effect, self.rule, self.origin)?;
        if let Some(reason) = &self.reason {
            write!(f, ": {reason}")?;
        }
        f.write_str(")")
    }
}

/// Which part of policy had the last word about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// A rule.
    Rule,
    /// A permission of the host.
    Permission,
    /// What the run has read before.
    Taint,
    /// What the owner says of the tool: `[tools.NAME] ask`.
    Tool,
    /// A switch, of the tool or of its group, that asks.
    Switch,
    /// The preset, by risk: no rule spoke.
    Preset,
    /// A gate of the host.
    Gate,
}

/// What policy said of one call, and which part of it: in the report, the record and the question of every call that came so far.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ruling {
    /// What was said.
    pub verdict: Verdict,
    /// By which part of policy.
    pub by: Decider,
    /// The rule, when one decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// In words.
    pub reason: Cow<'static, str>,
}
