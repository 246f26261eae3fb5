//! Which tools there are, which of them a caller sees, and why the others are not among them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::entry::{Entry, Source};
use crate::error::ToolError;
use crate::name::ToolName;
use crate::rule::RuleRef;
use crate::spec::{Status, Tier};
use crate::store::SwitchState;

/// What the caller's model can do with tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelAbility {
    /// Provider that declares hosted and provider-defined tools; empty = none, so they are left out.
    pub provider: String,
    /// Names that a small model may be given; `None` = any (seed 000: the on-device allow list).
    pub allow: Option<Vec<String>>,
}

/// What decides which tools a caller sees. The default sees every enabled tool that is ready.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewRequest {
    /// The caller's role, which the flags `allow_TOOL_ROLE` name; empty = none, so that only the flags for everybody hold.
    pub role: String,
    /// The agent's tool list: exact names, `group:g`, `server:s`, globs only with `*`; `None` = no limit.
    pub agent: Option<Vec<String>>,
    /// The tool list of the active skill; `None` or empty = no limit.
    pub skill: Option<Vec<String>>,
    /// Features that are off for this caller, by the name of their master switch.
    pub features_off: Vec<String>,
    /// What the model can do.
    pub model: ModelAbility,
}

impl ViewRequest {
    /// Whether nothing limits the view.
    #[must_use]
    pub fn is_default(&self) -> bool {
        let Self { role, agent, skill, features_off, model } = self;
        role.is_empty()
            && agent.is_none()
            && skill.is_none()
            && features_off.is_empty()
            && model.provider.is_empty()
            && model.allow.is_none()
    }
}

/// Why a tool is not in a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Exclusion {
    /// All tools are off.
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
        /// The master switch.
        feature: String,
    },
    /// A person switched it off, or it ships off.
    Disabled,
    /// A rule denies every call of it to this caller.
    Rule {
        /// The rule.
        rule: RuleRef,
    },
    /// The caller's role does not have it.
    Role {
        /// The flag that says so, such as `allow_shell_viewer`.
        flag: String,
    },
    /// The agent's list does not name it.
    Agent,
    /// The active skill does not allow it.
    Skill,
    /// Configuration is missing, or its source is not reachable.
    NotReady {
        /// Its status.
        status: Status,
    },
    /// The model's provider does not have it.
    Provider,
    /// The model is not given it.
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

/// A tool outside a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// The tool.
    pub name: ToolName,
    /// Why.
    pub reason: Exclusion,
}

/// The tools that one caller sees, in the stable order of requests (prompt caches), and the others with the reason.
#[derive(Debug, Default)]
pub struct View {
    /// The tools.
    pub tools: Vec<Entry>,
    /// The others.
    pub excluded: Vec<Excluded>,
    names: HashMap<String, usize, foldhash::fast::RandomState>,
}

impl View {
    /// A view of these tools; aliases and names find their entry.
    #[must_use]
    pub fn new(tools: Vec<Entry>, excluded: Vec<Excluded>) -> Self {
        let mut names = HashMap::default();
        for (i, entry) in tools.iter().enumerate() {
            for alias in &entry.spec().aliases {
                names.entry(alias.clone()).or_insert(i);
            }
        }
        // A tool's own name wins over another's alias.
        for (i, entry) in tools.iter().enumerate() {
            names.insert(entry.spec().name.as_str().to_owned(), i);
        }
        Self { tools, excluded, names }
    }

    /// The entry of this name or alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.names.get(name).and_then(|&i| self.tools.get(i))
    }

    /// Every name and alias that finds something.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

/// A tool as settings pages show it, whether enabled or not (seed 000: Tool Info).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInfo {
    /// Its id: the canonical name.
    pub id: ToolName,
    /// Name for people, in English.
    pub title: String,
    /// Localisation key of the title.
    pub title_key: String,
    /// What it does, in English.
    pub description: String,
    /// Localisation key of the description.
    pub description_key: String,
    /// Where it comes from.
    pub source: String,
    /// Place in the offering.
    pub tier: Tier,
    /// Group it is listed with.
    pub group: Option<String>,
    /// Whether it can be used now.
    #[serde(flatten)]
    pub status: Status,
    /// Whether it is switched on, and everything above it too.
    pub enabled: bool,
    /// What holds for calls of it now: off when it or something above it is off; asked about when its own switch, that of its group or the
    /// settings (`[tools.NAME] ask`) say so.
    pub state: SwitchState,
    /// What its own switch says, or else the settings and its definition, whatever is above it: what it is again when its group comes back.
    pub own_state: SwitchState,
    /// The master switch, for a tool without one of its own.
    pub controlled_by: Option<String>,
}

/// The registry as other crates see it.
pub trait Catalog: Send + Sync {
    /// The tools that a caller sees, and why the others are not among them.
    fn view(&self, request: &Arc<ViewRequest>) -> Arc<View>;

    /// Every tool, whether enabled or not, in stable order.
    fn infos(&self) -> Vec<ToolInfo>;

    /// Switches one tool off, on, or on with every call asked about. This is what is in force, not what is stored.
    ///
    /// # Errors
    /// `tool_not_found`, or `tool_disabled` when a master switch controls it or it is off for good; the text says which.
    fn set_tool_state(&self, tool: &str, state: SwitchState) -> Result<(), ToolError>;

    /// Switches one tool on or off.
    ///
    /// # Errors
    /// As [`set_tool_state`](Self::set_tool_state).
    fn set_enabled(&self, tool: &str, enabled: bool) -> Result<(), ToolError> {
        self.set_tool_state(tool, enabled.into())
    }

    /// The kill switch: `false` stops every new call at once.
    fn set_tools_enabled(&self, enabled: bool);

    /// Loads a source, in place of an earlier one with its id. All of it or nothing: calls in flight finish on the old entries.
    ///
    /// A tool of a remote source that cannot be registered (a bad schema, a name that is taken) does not fail the source: it becomes a
    /// row with [`Status::Error`], under a name of the form `source__tool` where its own is taken.
    fn attach<'a>(&'a self, source: &'a dyn Source) -> BoxFuture<'a, Result<usize, ToolError>>;

    /// Unloads a source; `false` = it was not loaded.
    fn detach(&self, source: &str) -> bool;

    /// A number that grows with every change.
    fn generation(&self) -> u64;
}
