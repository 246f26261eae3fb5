//! The structure of the file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolcrib_app::hooks::CommandHook;
use toolcrib_app::{PermissionTable, Preset, ToolSettings};
use toolcrib_assistant::calendar::CalendarSettings;
use toolcrib_assistant::draft::SendRule;
use toolcrib_assistant::heartbeat::HeartbeatSettings;
use toolcrib_assistant::notify::{DesktopProgram, NotifySettings};
use toolcrib_builtins::web::WebSettings;
use toolcrib_core::defaults::MAX_RETRY_ATTEMPTS;
use toolcrib_ops::secrets::SecretConsumer;
use toolcrib_providers::http_provider::ProviderKind;
use toolcrib_providers::quirks::Server;
use toolcrib_store::vault::SecretName;

use crate::config::apps::AppsSection;
use crate::config::calendar::CalendarSection;
use crate::config::deserialize::{self, MaskedText};
use crate::config::drafts::DraftsSection;
use crate::config::environment::Env;
use crate::config::file_paths::{folder_of, resolve_in_folder};
use crate::config::flag_name::FlagName;
use crate::config::heartbeat::HeartbeatSection;
use crate::config::hooks::HookSection;
use crate::config::layered_config::LayeredConfig;
use crate::config::notifications::NotificationsSection;
use crate::config::on_ask::OnAsk;
use crate::config::permissions::PermissionsSection;
use crate::config::python::PythonSection;
use crate::config::sandbox::SandboxSection;
use crate::config::server::ServerSection;
use crate::config::shell::ShellSection;
use crate::config::text_or_secret::TextOrSecret;
use crate::config::tool_search::ToolSearchSection;
use crate::config::web::WebSection;

/// The configuration file. Missing keys have the defaults of the components that they configure.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Path of the file, whether it exists or not.
    #[serde(skip)]
    pub(crate) path: PathBuf,
    /// Every value with its origin.
    #[serde(skip)]
    pub(crate) layered: LayeredConfig,
    /// Remarks for people on the merging of layers, one line each.
    #[serde(skip)]
    pub(crate) remarks: Vec<String>,
    pub(crate) model: ModelSection,
    /// Providers by id.
    pub(crate) providers: BTreeMap<ProviderId, ProviderSection>,
    /// Properties of models, by a pattern of their names (`*` matches any text).
    pub(crate) models: BTreeMap<String, ModelOverrides>,
    pub(crate) limits: Limits,
    /// Settings of tools, by their canonical names.
    tools: BTreeMap<String, ToolSection>,
    pub(crate) agent: AgentSection,
    /// The handling of calls that need approval if there is no approver.
    pub(crate) on_ask: Option<OnAsk>,
    /// The preset: the calls that run without asking.
    pub(crate) policy: Option<Preset>,
    /// Targets that HTTP tools may reach although they are not public, besides those of
    /// `--allow-net`.
    #[serde(deserialize_with = "deserialize::net_targets")]
    pub(crate) allow_net: Vec<String>,
    /// The permissions that the host grants, asks about, and refuses.
    pub(super) permissions: PermissionsSection,
    /// Programs that decide about calls, or observe them.
    pub(super) hooks: Vec<HookSection>,
    /// The roles that may use each tool. An untrusted layer may only set `false`.
    pub(crate) flags: BTreeMap<FlagName, bool>,
    /// Whether external calls that need approval wait in the inbox; default: no, they are denied.
    pub(crate) inbox: Option<bool>,
    /// Trusted workspaces, whose tools count as the owner's own.
    pub(crate) trusted_workspaces: Vec<PathBuf>,
    /// The access of tools' programs.
    pub(crate) sandbox: SandboxSection,
    /// The system in which shell commands run.
    pub(crate) shell: ShellSection,
    /// The addresses and limits of the daemon.
    pub(crate) server: ServerSection,
    /// The interpreter for code of models.
    pub(crate) python: PythonSection,
    /// Whether models have to search for tools, and the search.
    pub(crate) discovery: ToolSearchSection,
    /// The services of the web tools.
    pub(super) web: WebSection,
    /// Channels of notifications.
    pub(super) notifications: NotificationsSection,
    /// Health checks of paired apps.
    pub(crate) apps: AppsSection,
    /// The owner's calendar.
    pub(super) calendar: CalendarSection,
    /// Drafts that are sent without asking.
    pub(super) drafts: DraftsSection,
    /// Settings of the heartbeat.
    pub(super) heartbeat: HeartbeatSection,
}

/// `[model]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSection {
    /// The default model, `PROVIDER/MODEL`.
    pub(crate) default: Option<String>,
    /// The fallback models, in order.
    pub(crate) fallback: Vec<String>,
    /// Whether answers are streamed; default: yes.
    pub(crate) stream: Option<bool>,
}

/// `[agent]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentSection {
    /// The agent if none is named.
    pub(crate) default: Option<String>,
}

/// `[models."pattern"]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ModelOverrideFields")]
pub(crate) struct ModelOverrides {
    /// Size of the window in tokens.
    pub(crate) window: Option<u64>,
    /// Its price.
    pub(crate) price: Option<FlatPrice>,
}

/// Prices of a million tokens, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlatPrice {
    /// Price of input tokens.
    pub(crate) input: u64,
    /// Price of output tokens.
    pub(crate) output: u64,
}

/// The section as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelOverrideFields {
    window: Option<u64>,
    #[serde(default, deserialize_with = "deserialize::micro_usd")]
    input_price: Option<u64>,
    #[serde(default, deserialize_with = "deserialize::micro_usd")]
    output_price: Option<u64>,
}

impl TryFrom<ModelOverrideFields> for ModelOverrides {
    type Error = &'static str;

    fn try_from(written: ModelOverrideFields) -> Result<Self, &'static str> {
        let ModelOverrideFields { window, input_price, output_price } = written;
        let price = match (input_price, output_price) {
            (None, None) => None,
            (Some(input), Some(output)) => Some(FlatPrice { input, output }),
            _ => return Err("`input_price` and `output_price` go together"),
        };
        Ok(Self { window, price })
    }
}

/// `[limits]` of a run and its children; missing keys have the defaults of the loop.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// Maximum number of rounds, 1 to 100.
    pub(crate) rounds: Option<Rounds>,
    /// Maximum number of calls of tools.
    pub(crate) calls: Option<u64>,
    /// Maximum number of tokens, as reported by providers.
    pub(crate) tokens: Option<u64>,
    /// Maximum time, excluding waiting for people.
    #[serde(deserialize_with = "deserialize::duration")]
    pub(crate) time: Option<Duration>,
    /// Maximum cost, in millionths of a US dollar.
    #[serde(deserialize_with = "deserialize::micro_usd")]
    pub(crate) cost: Option<u64>,
}

/// A number of rounds, 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub(crate) struct Rounds(pub(crate) u32);

impl TryFrom<u32> for Rounds {
    type Error = &'static str;

    fn try_from(rounds: u32) -> Result<Self, &'static str> {
        if (1..=100).contains(&rounds) { Ok(Self(rounds)) } else { Err("rounds go from 1 to 100") }
    }
}

/// Maximum number of attempts of a call: 1 to [`MAX_RETRY_ATTEMPTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
struct Attempts(u32);

impl TryFrom<u32> for Attempts {
    type Error = String;

    fn try_from(attempts: u32) -> Result<Self, String> {
        if (1..=MAX_RETRY_ATTEMPTS).contains(&attempts) {
            return Ok(Self(attempts));
        }
        Err(format!("attempts go from 1, which means no retry, to {MAX_RETRY_ATTEMPTS}"))
    }
}

/// `[tools.NAME]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ToolSection {
    #[serde(deserialize_with = "deserialize::duration")]
    timeout: Option<Duration>,
    attempts: Option<Attempts>,
    #[serde(deserialize_with = "deserialize::duration")]
    backoff: Option<Duration>,
    enabled: Option<bool>,
    ask: Option<bool>,
    taint: Option<bool>,
    max_concurrent: Option<usize>,
    config: HashMap<String, TextOrSecret>,
}

impl ToolSection {
    /// Returns the values that are written in the file.
    fn literal_values(&self) -> impl Iterator<Item = (&String, &MaskedText)> {
        self.config.iter().filter_map(|(key, value)| match value {
            TextOrSecret::Literal(value) => Some((key, value)),
            TextOrSecret::Secret(_) => None,
        })
    }
}

/// Id of a provider: lower-case letters, digits, `-`, `_` and `.`, at most 60.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ProviderId(pub(crate) String);

impl TryFrom<String> for ProviderId {
    type Error = String;

    fn try_from(id: String) -> Result<Self, String> {
        let fits = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
        if id.is_empty() || id.len() > 60 || !id.bytes().all(fits) {
            return Err("an id of a provider has 1 to 60 of a-z, 0-9, -, _ and .".to_owned());
        }
        if id == "scripted" {
            return Err("`scripted` is the provider of scripts; choose another id".to_owned());
        }
        Ok(Self(id))
    }
}

/// `[providers.ID]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderSection {
    /// Its protocol; `None` if the id determines it.
    pub(crate) kind: Option<ProviderKind>,
    /// Its base URL; `None` selects the kind's public service.
    pub(crate) base_url: Option<String>,
    key: Option<TextOrSecret>,
    key_env: Option<String>,
    key_file: Option<PathBuf>,
    /// The model if none is named.
    pub(crate) model: Option<String>,
    /// Additional headers.
    pub(crate) headers: BTreeMap<String, MaskedText>,
    /// Whether its models run on this device.
    pub(crate) on_device: bool,
    /// Maximum time without data.
    #[serde(deserialize_with = "deserialize::duration")]
    pub(crate) idle: Option<Duration>,
    /// Maximum time of one request with its retries.
    #[serde(deserialize_with = "deserialize::duration")]
    pub(crate) timeout: Option<Duration>,
    /// Maximum number of retries of a failed request.
    pub(crate) retries: Option<u32>,
    /// Maximum number of requests per minute.
    pub(crate) max_per_minute: Option<u32>,
    /// Maximum number of requests per hour.
    pub(crate) max_per_hour: Option<u32>,
    /// The server software that determines its quirks, if neither kind nor host does.
    pub(crate) server: Option<Server>,
    /// Quirks that differ from those of the server.
    #[serde(deserialize_with = "deserialize::quirks")]
    pub(crate) quirks: Map<String, Value>,
}

impl ProviderSection {
    /// Checks the section as a whole.
    pub(super) fn check(&self, id: &str) -> Result<(), String> {
        let keys = [self.key.is_some(), self.key_env.is_some(), self.key_file.is_some()];
        if keys.into_iter().filter(|given| *given).count() > 1 {
            return Err("give one of `key_env`, `key_file` and `key`, not several".to_owned());
        }
        self.kind_of(id).map(|_| ())
    }

    /// Returns the protocol of the provider with this id.
    pub(super) fn kind_of(&self, id: &str) -> Result<ProviderKind, String> {
        let kinds = || ProviderKind::ALL.map(ProviderKind::as_str).join(", ");
        self.kind
            .or_else(|| id.parse().ok())
            .ok_or_else(|| format!("the provider `{id}` needs `kind`, one of {}", kinds()))
    }

    /// Returns the source of its key; `None` if it is the variable of its kind, if that has one.
    pub(super) fn key_source(&self) -> Option<KeySource<'_>> {
        let written = self.key.as_ref().map(|key| match key {
            TextOrSecret::Literal(key) => KeySource::Literal(&key.0),
            TextOrSecret::Secret(name) => KeySource::Secret(name),
        });
        let variable = || self.key_env.as_deref().map(KeySource::Variable);
        let file = || self.key_file.as_deref().map(KeySource::File);
        written.or_else(variable).or_else(file)
    }
}

/// The source of a key.
#[derive(Clone, Copy)]
pub(super) enum KeySource<'a> {
    /// The file itself.
    Literal(&'a str),
    /// The vault.
    Secret(&'a SecretName),
    /// An environment variable.
    Variable(&'a str),
    /// A separate file.
    File(&'a Path),
}

impl Config {
    /// Returns the settings of tools for the engine.
    pub(crate) fn tool_settings(&self) -> HashMap<String, ToolSettings> {
        let settings = |name: &str, tool: &ToolSection| ToolSettings {
            timeout: tool.timeout,
            attempts: tool.attempts.map(|Attempts(attempts)| attempts),
            backoff: tool.backoff,
            enabled: tool.enabled,
            off_for_good: self.is_off_for_good(name),
            ask: tool.ask,
            taint: tool.taint,
            max_concurrent: tool.max_concurrent,
            config: tool
                .literal_values()
                .map(|(key, value)| (key.clone(), value.0.clone()))
                .collect(),
        };
        self.tools.iter().map(|(name, tool)| (name.clone(), settings(name, tool))).collect()
    }

    /// Returns the names of secrets that are used as configuration values, by tool and key.
    pub(crate) fn vault_tool_config(&self) -> HashMap<String, HashMap<String, String>> {
        let named = |tool: &ToolSection| -> HashMap<String, String> {
            let named = tool.config.iter().filter_map(|(key, value)| match value {
                TextOrSecret::Secret(name) => Some((key.clone(), name.to_string())),
                TextOrSecret::Literal(_) => None,
            });
            named.collect()
        };
        let tools = self.tools.iter().map(|(name, tool)| (name.clone(), named(tool)));
        tools.filter(|(_, keys)| !keys.is_empty()).collect()
    }

    /// Returns every value that is written in the file for a tool.
    pub(crate) fn literal_tool_config(&self) -> impl Iterator<Item = &str> {
        self.tools.values().flat_map(ToolSection::literal_values).map(|(_, value)| value.0.as_str())
    }

    /// Returns the providers whose key is in the vault, with its name.
    pub(crate) fn vault_provider_keys(&self) -> impl Iterator<Item = (&str, &SecretName)> {
        self.providers.iter().filter_map(|(id, section)| match section.key_source() {
            Some(KeySource::Secret(name)) => Some((id.0.as_str(), name)),
            _ => None,
        })
    }

    /// Returns the settings of the web tools' services.
    pub(crate) fn web_settings(&self, env: &Env) -> WebSettings {
        self.web.settings(|path| self.resolve_path(path, env))
    }

    /// Returns the settings of the heartbeat.
    pub(crate) fn heartbeat_settings(&self) -> HeartbeatSettings {
        self.heartbeat.settings()
    }

    /// Returns the settings of notifications; `program` is the desktop's notification program.
    pub(crate) fn notify_settings(&self, program: Option<DesktopProgram>) -> NotifySettings {
        self.notifications.settings(program)
    }

    /// Returns the owner's calendar.
    pub(crate) fn calendar_settings(&self) -> Option<CalendarSettings> {
        self.calendar.settings()
    }

    /// Returns the rules by which drafts are sent without asking.
    pub(crate) fn send_rules(&self) -> Vec<SendRule> {
        self.drafts.rules()
    }

    /// Returns keys of services that are written in the file.
    pub(crate) fn literal_service_keys(&self) -> impl Iterator<Item = &str> {
        let of_web = self.web.literal_keys();
        of_web.chain(self.notifications.literal_secrets()).chain(self.calendar.literal_secret())
    }

    /// Returns the services whose key is in the vault, with its name.
    pub(crate) fn vault_service_keys(&self) -> impl Iterator<Item = (String, &SecretName)> {
        let of_web = self.web.vault_keys();
        of_web.chain(self.notifications.vault_secrets()).chain(self.calendar.vault_secret())
    }

    /// Returns the names of secrets that the configuration uses, each with its consumer.
    pub(crate) fn secret_consumers(&self) -> Vec<(String, SecretConsumer)> {
        let tools = self.vault_tool_config().into_iter().flat_map(|(tool, keys)| {
            keys.into_iter()
                .map(move |(key, name)| (name, SecretConsumer::Tool { tool: tool.clone(), key }))
        });
        let providers = self.vault_provider_keys().map(|(id, name)| {
            (name.to_string(), SecretConsumer::Provider { provider: id.to_owned() })
        });
        let services = self
            .vault_service_keys()
            .map(|(service, name)| (name.to_string(), SecretConsumer::Service { service }));
        tools.chain(providers).chain(services).collect()
    }

    /// Returns the names of tools with settings, in alphabetical order.
    pub(crate) fn configured_tools(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// Returns whether a tool is disabled or asks.
    pub(crate) fn restricts(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| {
            tool.enabled == Some(false) || tool.ask == Some(true) || tool.taint == Some(true)
        })
    }

    /// Returns the permissions of all layers together, none of which loosens a pinned value.
    pub(crate) fn permission_table(&self) -> PermissionTable {
        let file = self.path.display().to_string();
        let own = self.permissions.to_permission_table(file);
        let stricter = self.layered.tighteners.iter();
        stricter.fold(own, |table, section| {
            table.tightened_by(section.to_permission_table(String::new()))
        })
    }

    /// Returns the programs that decide about calls, or observe them.
    pub(crate) fn command_hooks(&self, env: &Env) -> Vec<CommandHook> {
        self.hooks.iter().map(|hook| hook.to_command_hook(env)).collect()
    }

    /// Returns the files that contain keys of providers.
    pub(crate) fn key_files(&self, env: &Env) -> Vec<PathBuf> {
        let files = self.providers.values().filter_map(|section| match section.key_source() {
            Some(KeySource::File(path)) => Some(self.resolve_path(path, env)),
            _ => None,
        });
        files.collect()
    }

    /// Returns whether a workspace is trusted: the same folder, by any path to it.
    pub(crate) fn is_trusted_workspace(&self, workspace: &Path, env: &Env) -> bool {
        self.trusted_workspaces.iter().any(|path| self.is_same_folder(path, workspace, env))
    }

    /// Returns whether a path of the file is this folder, by any path to it.
    pub(crate) fn is_same_folder(&self, path: &Path, folder: &Path, env: &Env) -> bool {
        let Ok(folder) = folder.canonicalize() else { return false };
        self.resolve_path(path, env).canonicalize().is_ok_and(|path| path == folder)
    }

    /// Resolves a path of the file: relative to the file's folder; `~/` is the home folder.
    pub(crate) fn resolve_path(&self, path: &Path, env: &Env) -> PathBuf {
        resolve_in_folder(path, self.folder(), env)
    }

    /// Returns the folder of the file, to which paths in it are relative.
    pub(super) fn folder(&self) -> &Path {
        folder_of(&self.path)
    }
}
