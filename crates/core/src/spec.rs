//! What a tool is: data only.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::ToolName;
use crate::output::Trust;
use crate::permission::Permission;
use crate::tool_meta::ToolMeta;
use crate::{canonical, defaults};

/// Version of the form of [`ToolSpec`] in files, REST and worker protocols. A newer one is refused in clear words (DESIGN 9).
pub const SPEC_VERSION: u32 = 1;

/// What running a tool may change, and so what a crash in the middle of it means. Ordered from harmless to worst.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Computes; touches nothing.
    Pure,
    /// Reads the world.
    Read,
    /// Changes the world, but twice is the same as once.
    Idempotent,
    /// Changes the world; twice is not once. The default of a tool that declares nothing.
    #[default]
    SideEffect,
    /// Destroys something.
    Destructive,
}

impl Effect {
    /// Whether a failed or interrupted call may simply run again.
    #[must_use]
    pub fn is_repeatable(self) -> bool {
        self <= Self::Idempotent
    }
}

/// How far a call reaches, as a set; taint looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reach {
    /// Sends something outside this machine.
    pub outbound: bool,
    /// Runs code or programs.
    pub exec: bool,
    /// Reads private data: mail, memory, personal files, what secrets open.
    pub private_read: bool,
}

/// How bad a wrong call would be. Undeclared is `High` (SPEC 4.9, item 6).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Nothing that a person would want to be asked about.
    Safe,
    /// A person should see it first.
    #[default]
    High,
    /// A person must see it first.
    Critical,
}

/// Where in the offering a tool stands (seed 004).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Always in the model's context.
    Innate,
    /// Shipped with the product.
    #[default]
    FirstParty,
    /// From a paired app or a server.
    Interface,
}

impl Tier {
    /// All of them, in the order of the offering.
    pub const ALL: [Self; 3] = [Self::Innate, Self::FirstParty, Self::Interface];

    /// The wire name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Innate => "innate",
            Self::FirstParty => "first_party",
            Self::Interface => "interface",
        }
    }
}

/// Whether a tool can be used now (seed 004's three, and the reasons it cannot).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Built in; nothing to configure.
    System,
    /// Known, but required configuration is missing: these keys.
    Available {
        /// Configuration keys without a value.
        missing: Vec<String>,
    },
    /// Fully configured.
    Connected,
    /// Switched off by a person.
    Disabled,
    /// Its source cannot be reached.
    Offline {
        /// What happened.
        reason: String,
    },
    /// Its definition or its source is broken.
    Error {
        /// What is wrong.
        reason: String,
    },
}

/// One configuration value that a tool needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigKey {
    /// Name of the value.
    pub key: String,
    /// What it is, for people.
    pub description: String,
    /// Whether it is masked everywhere.
    #[serde(default)]
    pub secret: bool,
    /// Whether the tool works without it.
    #[serde(default)]
    pub required: bool,
}

/// A sample call, for discovery and documentation. The registry's lint checks it against the schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// What a person would ask for.
    pub need: String,
    /// The arguments that answer it.
    pub args: Value,
}

/// How a call holds its concurrency key.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// May run beside every other call with the same concurrency key that is also shared.
    #[default]
    Shared,
    /// Runs alone among the calls with the same concurrency key.
    Exclusive,
}

/// What policy names: `tool`, or `tool.action`. Toggles, agent sets, rules, grants and audit all use this one string.
pub type Operation = String;

/// The definition of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Version of this form, [`SPEC_VERSION`].
    pub spec_version: u32,
    /// Canonical name.
    pub name: ToolName,
    /// Name for people, in English; the localisation key is `tool.NAME.title`.
    pub title: String,
    /// What the tool does: one or two sentences, for models, discovery and people.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments; an object. Shared, because the registry keeps it too.
    pub input_schema: Arc<Value>,
    /// JSON Schema of the structured result, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Value>>,
    /// Other names that mean this tool. `other.action` is also what a call of `other` with that `action` means: `file_manager.read`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Arguments that an alias stands for, where a call by it does not give them: (`file_manager.append`, `{"mode": "append"}`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alias_args: Vec<(String, Value)>,
    /// Other names of parameters: (alias, canonical), such as (`file_path`, `path`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter_aliases: Vec<(String, String)>,
    /// Place in the offering.
    pub tier: Tier,
    /// Risk of a call, before its arguments are looked at.
    pub risk: Risk,
    /// What a call may change.
    pub effect: Effect,
    /// How far a call reaches, before its arguments are looked at.
    #[serde(default)]
    pub reach: Reach,
    /// What the host must have granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Permission>,
    /// Longest run of one attempt, waiting for people and queueing excluded.
    pub timeout: Duration,
    /// Attempts of a repeatable call, the first one included; 1 = never retried.
    pub attempts: u32,
    /// Whether the tool may be called again and again with equal arguments (it polls something), so the repeat guard leaves it alone.
    #[serde(default)]
    pub polling: bool,
    /// Whether the tool is on before anybody decided.
    pub default_enabled: bool,
    /// The master switch of a tool that has no toggle of its own (seed 000: memory, scheduling, heartbeat, e-mail).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controlled_by: Option<String>,
    /// Group that the tool is listed and switched with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Configuration that the tool needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<ConfigKey>,
    /// Where the words of a result come from, unless the result says otherwise.
    pub trust: Trust,
    /// Sample calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// Whether models are told only its name and what it does, until they ask for it (seed 003: `lazy_schema`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lazy_schema: bool,
    /// Version of the tool itself.
    pub version: String,
    /// A digest of what a call runs, of a tool whose program is a file that anybody may edit; `None` = code of its host. Part of the
    /// definition, so that no approval outlives the program that it was given for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// What its maker says of it to the programs of clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<ToolMeta>,
}

impl ToolSpec {
    /// A specification with the strictest defaults: high risk, side effects, external words, 30 s.
    #[must_use]
    pub fn new(name: ToolName, description: impl Into<String>, input_schema: Value) -> Self {
        Self {
            spec_version: SPEC_VERSION,
            title: title_of(name.as_str()),
            name,
            description: description.into(),
            input_schema: Arc::new(input_schema),
            output_schema: None,
            aliases: Vec::new(),
            alias_args: Vec::new(),
            parameter_aliases: Vec::new(),
            tier: Tier::default(),
            risk: Risk::default(),
            effect: Effect::default(),
            reach: Reach::default(),
            permissions: Vec::new(),
            timeout: defaults::TIMEOUT,
            attempts: defaults::RETRY_ATTEMPTS,
            polling: false,
            default_enabled: true,
            controlled_by: None,
            group: None,
            config: Vec::new(),
            trust: Trust::External,
            examples: Vec::new(),
            lazy_schema: false,
            version: "1".to_owned(),
            runs: None,
            meta: None,
        }
    }

    /// Whether models may be offered it.
    #[must_use]
    pub fn is_for_models(&self) -> bool {
        self.meta.as_ref().is_none_or(ToolMeta::is_for_models)
    }

    /// SHA-256 of the whole definition: approvals and records are bound to it, so a changed tool is a different tool.
    #[must_use]
    pub fn definition_hash(&self) -> String {
        serde_json::to_value(self).map(|v| canonical::sha256(&v)).unwrap_or_default()
    }
}

/// `read_file` becomes "Read file".
fn title_of(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// What one call means, found from its arguments. It may raise what the specification declares; only a built-in may lower it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    /// The canonical operation: the tool's name, or `tool.action`.
    pub operation: Option<Operation>,
    /// Risk of this call.
    pub risk: Risk,
    /// Effect of this call.
    pub effect: Effect,
    /// Reach of this call.
    pub reach: Reach,
    /// Permissions that this call needs, beyond the declared ones.
    pub permissions: Vec<Permission>,
    /// What is locked while it runs: files, an account, a session.
    pub concurrency: Vec<(String, Access)>,
    /// One line for the person who is asked, such as "delete notes.md".
    pub summary: Option<String>,
}

impl Assessment {
    /// Exactly what the specification declares.
    #[must_use]
    pub fn declared(spec: &ToolSpec) -> Self {
        Self {
            operation: None,
            risk: spec.risk,
            effect: spec.effect,
            reach: spec.reach,
            permissions: Vec::new(),
            concurrency: Vec::new(),
            summary: None,
        }
    }

    /// The same with one more lock.
    #[must_use]
    pub fn locking(mut self, key: impl Into<String>, access: Access) -> Self {
        self.concurrency.push((key.into(), access));
        self
    }

    /// The same with a line for the person who is asked.
    #[must_use]
    pub fn saying(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }
}
