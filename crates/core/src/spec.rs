//! Tool definitions: name, schema, risk, effect and limits, as plain data.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permission::Permission;
use crate::tool_meta::ToolMeta;
use crate::tool_name::ToolName;
use crate::trust::Trust;
use crate::{canonical_json, defaults};

/// Version of the [`ToolSpec`] format in files, REST and worker protocols. A newer version is
/// rejected with an explanation.
pub const SPEC_VERSION: u32 = 1;

/// What a call may change, which also decides what a crash during the call means. Ordered from
/// harmless to worst.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Computes only; accesses nothing.
    Pure,
    /// Reads external state.
    Read,
    /// Changes external state; running it twice has the same effect as once.
    Idempotent,
    /// Changes external state; running it twice differs from once. The default for tools without a
    /// declared effect.
    #[default]
    SideEffect,
    /// Deletes or destroys something.
    Destructive,
}

impl Effect {
    /// Returns whether a failed or interrupted call may simply be run again.
    #[must_use]
    pub fn is_repeatable(self) -> bool {
        self <= Self::Idempotent
    }

    /// Returns whether the call changes nothing at all.
    #[must_use]
    pub fn only_reads(self) -> bool {
        self <= Self::Read
    }
}

/// How far a call reaches; taint rules depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reach {
    /// Sends something to another machine.
    pub outbound: bool,
    /// Executes code or programs.
    pub exec: bool,
    /// Reads private data: mail, memory, personal files, data protected by secrets.
    pub private_read: bool,
}

/// How bad a wrong call would be. The default is `High`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// No approval is useful.
    Safe,
    /// A person should approve it.
    #[default]
    High,
    /// A person must approve it.
    Critical,
}

/// A tool's place in the offering.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Declared in every request to a model.
    Innate,
    /// Shipped with the product, or from a tool folder of the owner.
    #[default]
    FirstParty,
    /// From a paired app, an MCP server, or a tool folder of an untrusted workspace.
    Interface,
}

impl Tier {
    /// All tiers, in the order of the offering.
    pub const ALL: [Self; 3] = [Self::Innate, Self::FirstParty, Self::Interface];

    /// Returns the name in files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Innate => "innate",
            Self::FirstParty => "first_party",
            Self::Interface => "interface",
        }
    }
}

/// Whether a tool can be used now, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Built in; needs no configuration.
    System,
    /// Required configuration is missing.
    Available {
        /// Configuration keys without a value.
        missing: Vec<String>,
    },
    /// Fully configured.
    Connected,
    /// Disabled by a person.
    Disabled,
    /// Its source cannot be reached.
    Offline {
        /// The reason.
        reason: String,
    },
    /// The definition or its source is broken.
    Error {
        /// The reason.
        reason: String,
    },
}

/// A configuration value that a tool needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigKey {
    /// Name of the value.
    pub key: String,
    /// Description for people.
    pub description: String,
    /// Whether the value is masked in all output.
    #[serde(default)]
    pub secret: bool,
    /// Whether the tool needs it to work.
    #[serde(default)]
    pub required: bool,
}

/// An example call, for tool search and documentation. The registry checks it against the schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// A request in a user's words.
    pub need: String,
    /// The arguments that fulfill it.
    pub args: Value,
}

/// How a call locks its concurrency key.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// May run concurrently with other shared calls of the same key.
    #[default]
    Shared,
    /// Runs alone among the calls of the same key.
    Exclusive,
}

/// The name that policy uses: `tool` or `tool.action`. Switches, tool lists, rules, grants and
/// audit all use this string.
pub type Operation = String;

/// The definition of a tool.
///
/// ```
/// use toolcrib_core::{Effect, Risk, ToolName, ToolSpec};
///
/// let schema = serde_json::json!({"type": "object", "properties": {}});
/// let spec = ToolSpec::new(ToolName::local("get_status")?, "Show the status.", schema);
/// // A tool that declares nothing gets the strictest defaults.
/// assert_eq!((spec.risk, spec.effect), (Risk::High, Effect::SideEffect));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Version of the format, [`SPEC_VERSION`].
    pub spec_version: u32,
    /// Canonical name.
    pub name: ToolName,
    /// Name for people, in English; the localization key is `tool.NAME.title`.
    pub title: String,
    /// Description in one or two sentences, for models, tool search and people.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments, an object. In an `Arc` because the registry shares it.
    pub input_schema: Arc<Value>,
    /// JSON Schema of the structured result, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Value>>,
    /// Other names of the tool. `other.action` also matches a call of `other` with that `action`:
    /// `file_manager.read`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Arguments that an alias implies if the call does not pass them: (`file_manager.append`,
    /// `{"mode": "append"}`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alias_args: Vec<(String, Value)>,
    /// Other names of parameters as (alias, canonical), such as (`file_path`, `path`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter_aliases: Vec<(String, String)>,
    /// Place in the offering.
    pub tier: Tier,
    /// Risk of a call before its arguments are assessed.
    pub risk: Risk,
    /// What a call may change.
    pub effect: Effect,
    /// Reach of a call before its arguments are assessed.
    #[serde(default)]
    pub reach: Reach,
    /// Permissions that the host must grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Permission>,
    /// Maximum duration of a call: of all its attempts and the waits between them, excluding
    /// waiting for people and for a slot.
    pub timeout: Duration,
    /// Maximum attempts of a repeatable call, including the first; 1 disables retries.
    pub attempts: u32,
    /// Whether repeated calls with equal arguments are normal because the tool polls something. The
    /// repeat guard then ignores it.
    #[serde(default)]
    pub polling: bool,
    /// Whether the tool is enabled by default.
    pub default_enabled: bool,
    /// The tool whose state this one follows as long as neither the settings nor a switch names
    /// this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled_with: Option<String>,
    /// The feature switch of a tool without its own switch (memory, scheduling, heartbeat, e-mail).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controlled_by: Option<String>,
    /// Group that the tool is listed and switched with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Configuration that the tool needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<ConfigKey>,
    /// Trust level of a result's text, unless the result declares one.
    pub trust: Trust,
    /// Example calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// Further needs in the words of people, such as "mkdir" for a tool that creates folders. Only
    /// the tool search reads them, the first 16; models and providers never receive them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Whether models get only name and description until they ask for the schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lazy_schema: bool,
    /// Version of the tool itself.
    pub version: String,
    /// Digest of the program that a call executes, if it is a file that the user can edit; `None`
    /// for code of the host. Part of the definition, so that an approval becomes invalid when the
    /// program changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// Metadata from the author for client programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<ToolMeta>,
}

impl ToolSpec {
    /// Creates a definition with the strictest defaults: high risk, side effects, external text, 30
    /// s.
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
            enabled_with: None,
            controlled_by: None,
            group: None,
            config: Vec::new(),
            trust: Trust::External,
            examples: Vec::new(),
            needs: Vec::new(),
            lazy_schema: false,
            version: "1".to_owned(),
            runs: None,
            meta: None,
        }
    }

    /// Returns whether models may be offered the tool.
    #[must_use]
    pub fn is_for_models(&self) -> bool {
        self.meta.as_ref().is_none_or(ToolMeta::is_for_models)
    }

    /// Returns the SHA-256 of the whole definition. Approvals and records are bound to it, so a
    /// changed tool counts as a different tool.
    #[must_use]
    pub fn definition_hash(&self) -> String {
        serde_json::to_value(self).map(|v| canonical_json::sha256(&v)).unwrap_or_default()
    }
}

/// Converts `read_file` to "Read file".
fn title_of(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Assessment of one call from its arguments. It may raise the declared values; only built-in tools
/// may lower them.
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
    /// Whether the call runs a program of its caller's choice without a sandbox, where path rules
    /// cannot be enforced. Such a call needs an approval if a rule denies any path.
    pub unconfined: bool,
    /// Permissions that the call needs beyond the declared ones.
    pub permissions: Vec<Permission>,
    /// Locks held while it runs: files, an account, a session.
    pub concurrency: Vec<(String, Access)>,
    /// One line for an approval request, such as "delete notes.md".
    pub summary: Option<String>,
}

impl Assessment {
    /// Creates an assessment with exactly the declared values.
    #[must_use]
    pub fn from_spec(spec: &ToolSpec) -> Self {
        Self {
            operation: None,
            risk: spec.risk,
            effect: spec.effect,
            reach: spec.reach,
            unconfined: false,
            permissions: Vec::new(),
            concurrency: Vec::new(),
            summary: None,
        }
    }

    /// Adds a lock.
    #[must_use]
    pub fn with_lock(mut self, key: impl Into<String>, access: Access) -> Self {
        self.concurrency.push((key.into(), access));
        self
    }

    /// Sets the line for approval requests.
    #[must_use]
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }
}
