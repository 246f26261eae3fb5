//! Reasons for which a tool is not offered to a caller.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rule::RuleRef;
use crate::spec::{Status, Tier};

/// Why a tool is not in a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Exclusion {
    /// The kill switch is on.
    KillSwitch,
    /// The switch of its source is off.
    SourceOff {
        /// The source.
        source: String,
    },
    /// The switch of its tier is off.
    TierOff {
        /// The tier.
        tier: Tier,
    },
    /// The switch of its group is off.
    GroupOff {
        /// The group.
        group: String,
    },
    /// The feature that controls it is off.
    FeatureOff {
        /// The feature switch.
        feature: String,
    },
    /// Disabled by a person or by default.
    Disabled,
    /// A rule denies this caller every call of the tool.
    Rule {
        /// The rule.
        rule: RuleRef,
    },
    /// The caller's role does not include it.
    Role {
        /// The flag that excludes it, such as `allow_shell_viewer`.
        flag: String,
    },
    /// The agent's list does not include it.
    Agent,
    /// The active skill does not allow it.
    Skill,
    /// Configuration is missing, or the source is not reachable.
    NotReady {
        /// Its status.
        status: Status,
    },
    /// The model's provider does not support it.
    Provider,
    /// The model's allow list does not include it.
    Model,
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KillSwitch => f.write_str("all tools are switched off"),
            Self::SourceOff { source } => write!(f, "the source \"{source}\" is switched off"),
            Self::TierOff { tier } => write!(f, "the tier {tier:?} is switched off"),
            Self::GroupOff { group } => write!(f, "the group \"{group}\" is switched off"),
            Self::FeatureOff { feature } => write!(f, "the feature \"{feature}\" is switched off"),
            Self::Disabled => f.write_str("it is switched off"),
            Self::Rule { rule } => write!(f, "a rule denies it: {rule}"),
            Self::Role { flag } => write!(f, "the flag {flag} is false"),
            Self::Agent => f.write_str("the agent's tool list does not name it"),
            Self::Skill => f.write_str("the active skill does not allow it"),
            Self::NotReady { status: Status::Available { missing } } => {
                write!(f, "configuration is missing: {}", missing.join(", "))
            }
            Self::NotReady { status: Status::Offline { reason } } => write!(f, "offline: {reason}"),
            Self::NotReady { status: Status::Error { reason } } => write!(f, "broken: {reason}"),
            Self::NotReady { .. } => f.write_str("it is not ready"),
            Self::Provider => f.write_str("the model's provider does not have it"),
            Self::Model => f.write_str("this model is not given it"),
        }
    }
}
