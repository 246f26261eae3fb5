//! Presets: the verdict by risk if no rule applies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toolcrib_core::{Effect, ErrorType, GateInput, ReasonKind, Risk, ToolError, Verdict, Vote};

/// A preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Calls of safe and high risk run, critical ones ask.
    Auto,
    /// Calls of high and critical risk ask.
    #[default]
    AskRisky,
    /// All calls ask, except those of innate tools.
    AskAll,
    /// Only safe reads run; no call asks.
    Locked,
}

/// The owner's other settings for a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PresetOwner<'a> {
    /// `[tools.NAME] ask`.
    pub(crate) ask: Option<bool>,
    /// Description of the switch that asks about every call of the tool.
    pub(crate) switch: Option<&'a str>,
    /// Whether a rule applied to this call.
    pub(crate) ruled: bool,
    /// Whether the tool is innate.
    pub(crate) innate: bool,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 4] = [Self::Auto, Self::AskRisky, Self::AskAll, Self::Locked];

    /// Returns the name on command lines and in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::AskRisky => "ask-risky",
            Self::AskAll => "ask-all",
            Self::Locked => "locked",
        }
    }

    /// Returns the verdict on a call to which no rule applies, by its risk and effect alone.
    #[must_use]
    pub fn verdict(self, risk: Risk, effect: Effect) -> Verdict {
        let asks_from = match self {
            Self::Locked if risk == Risk::Safe && effect <= Effect::Read => return Verdict::Allow,
            Self::Locked => return Verdict::Deny,
            Self::AskAll => Risk::Safe,
            Self::AskRisky => Risk::High,
            Self::Auto => Risk::Critical,
        };
        if risk >= asks_from { Verdict::Ask } else { Verdict::Allow }
    }

    /// Returns the reason why a call runs that no rule or gate decided.
    pub(crate) fn lets_run(self) -> &'static str {
        match self {
            Self::Auto => "no rule speaks, and the preset auto lets this risk run",
            Self::AskRisky => "no rule speaks, and the preset ask-risky lets this risk run",
            Self::AskAll => "the preset ask-all lets tools run that are always there",
            Self::Locked => "the preset locked lets safe reads run",
        }
    }

    /// Evaluates a call. A call that a rule allows asks only if the owner's settings for the tool
    /// require it; `locked` still denies.
    pub(crate) fn judge(self, proposal: &GateInput<'_>, owner: PresetOwner<'_>) -> Vote {
        let verdict = self.verdict(proposal.risk, proposal.effect);
        let asks = match (self, owner.ask) {
            _ if verdict == Verdict::Deny => return locked(proposal.operation),
            // This preset never asks, so a switch in state `ask` denies the call.
            (Self::Locked, _) => owner.switch.is_some(),
            (_, Some(true)) => true,
            _ if owner.ruled => false,
            (_, Some(false)) if proposal.risk < Risk::Critical => false,
            (Self::AskAll, _) => !owner.innate,
            (Self::AskRisky | Self::Auto, _) => verdict == Verdict::Ask,
        };
        if !asks {
            return Vote::Abstain;
        }
        if let Some(switch) = owner.switch {
            let reason = switch.to_owned();
            return Vote::Ask { kind: ReasonKind::Risk, reason, rule: None };
        }
        let risk = match proposal.risk {
            Risk::Safe => "safe",
            Risk::High => "high",
            Risk::Critical => "critical",
        };
        Vote::Ask {
            kind: ReasonKind::Risk,
            reason: format!("{} has {risk} risk, and the preset {self} asks", proposal.operation),
            rule: None,
        }
    }
}

fn locked(operation: &str) -> Vote {
    let reason = format!("{operation} is not allowed: only safe reads run while tools are locked.");
    let error = ToolError::new(ErrorType::PolicyDenied, reason)
        .with_instruction("Do not retry it; answer with what you can read.");
    Vote::Deny { error, rule: None }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == text).ok_or_else(|| {
            format!("\"{text}\" is not a preset; use auto, ask-risky, ask-all or locked")
        })
    }
}
