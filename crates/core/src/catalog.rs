//! The tool catalog: all registered tools, the view of one caller, and the reasons for exclusion.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::entry::{Entry, Source};
use crate::error::ToolError;
use crate::rule::RuleRef;
use crate::spec::{Status, Tier};
use crate::store::SwitchState;
use crate::tool_name::ToolName;

/// Capabilities of the caller's model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCapabilities {
    /// Provider that declares hosted and provider-defined tools; empty leaves those tools out.
    pub provider: String,
    /// Names that a small model may be given, such as an on-device model; `None` allows all.
    pub allow: Option<Vec<String>>,
}

/// The inputs that decide which tools a caller sees. The default sees every enabled tool that is
/// ready.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewRequest {
    /// The caller's role, which the flags `allow_TOOL_ROLE` name; empty means that only flags
    /// without a role apply.
    pub role: String,
    /// The agent's tool list: exact names, `group:g`, `server:s`, globs with `*`; `None` means no
    /// limit.
    pub agent: Option<Vec<String>>,
    /// The tool list of the active skill; `None` or empty means no limit.
    pub skill: Option<Vec<String>>,
    /// Features that are off for this caller, by the name of their switch.
    pub features_off: Vec<String>,
    /// Capabilities of the model.
    pub model: ModelCapabilities,
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
    /// A rule denies every call of it to this caller.
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

/// A tool that is not in the view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// The tool.
    pub name: ToolName,
    /// Why.
    pub reason: Exclusion,
}

/// The tools that one caller sees, and the excluded ones with their reasons. The order is stable
/// because prompt caches depend on it.
#[derive(Debug, Default)]
pub struct View {
    /// The tools.
    pub tools: Vec<Entry>,
    /// The excluded tools.
    pub excluded: Vec<Excluded>,
    names: HashMap<String, usize, foldhash::fast::RandomState>,
}

impl View {
    /// A view of these tools, indexed by names and aliases.
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

    /// The entry with this name or alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.names.get(name).and_then(|&i| self.tools.get(i))
    }

    /// All names and aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

/// A tool as listed on settings pages, whether enabled or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInfo {
    /// Id: the canonical name.
    pub id: ToolName,
    /// Name for people, in English.
    pub title: String,
    /// Localization key of the title.
    pub title_key: String,
    /// What it does, in English.
    pub description: String,
    /// Localization key of the description.
    pub description_key: String,
    /// Id of its source.
    pub source: String,
    /// Place in the offering.
    pub tier: Tier,
    /// Group that it is listed with.
    pub group: Option<String>,
    /// Whether it can be used now.
    #[serde(flatten)]
    pub status: Status,
    /// Whether the tool and everything above it (group, source, tier, feature) is switched on.
    pub enabled: bool,
    /// Effective state: `off` if the tool or something above it is off; `ask` if its own switch,
    /// its group's switch or the settings (`[tools.NAME] ask`) say so.
    pub state: SwitchState,
    /// The tool's own state, ignoring everything above it: its switch, or else the settings and its
    /// definition. It applies again when the group is enabled again.
    pub own_state: SwitchState,
    /// The feature switch of a tool without its own switch.
    pub controlled_by: Option<String>,
}

/// The registry as other crates see it.
pub trait Catalog: Send + Sync {
    /// The tools that a caller sees, and the excluded ones.
    fn view(&self, request: &Arc<ViewRequest>) -> Arc<View>;

    /// Every tool, enabled or not, in a stable order.
    fn infos(&self) -> Vec<ToolInfo>;

    /// Sets the state of one tool in this process; storing it is the caller's task.
    ///
    /// # Errors
    /// `tool_not_found`, or `tool_disabled` if a feature switch controls the tool or it is
    /// permanently off; the message says which.
    fn set_tool_state(&self, tool: &str, state: SwitchState) -> Result<(), ToolError>;

    /// Switches one tool on or off.
    ///
    /// # Errors
    /// See [`set_tool_state`](Self::set_tool_state).
    fn set_enabled(&self, tool: &str, enabled: bool) -> Result<(), ToolError> {
        self.set_tool_state(tool, enabled.into())
    }

    /// The kill switch: `false` stops every new call at once.
    fn set_tools_enabled(&self, enabled: bool);

    /// Loads a source and replaces an earlier one with the same id. The change is atomic; running
    /// calls finish on the old entries.
    ///
    /// A tool of a remote source that cannot be registered (invalid schema, name already used) does
    /// not fail the source. It becomes an entry with [`Status::Error`], named `source__tool` if its
    /// own name is already used.
    fn attach<'a>(&'a self, source: &'a dyn Source) -> BoxFuture<'a, Result<usize, ToolError>>;

    /// Unloads a source; `false` if it was not loaded.
    fn detach(&self, source: &str) -> bool;

    /// A counter that grows with every change.
    fn generation(&self) -> u64;
}
