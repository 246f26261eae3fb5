//! Settings of a Toolcrib.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use toolcrib_assistant::calendar::CalendarSettings;
use toolcrib_assistant::heartbeat::HeartbeatSettings;
use toolcrib_assistant::notify::NotifySettings;
use toolcrib_builtins::Opener;
use toolcrib_builtins::program_runner::ProgramPolicy;
use toolcrib_builtins::shell::BACKGROUND_IDLE;
use toolcrib_builtins::web::WebSettings;
use toolcrib_engine::EngineSettings;
use toolcrib_engine::rules::RuleSet;
use toolcrib_net::OwnPorts;
use toolcrib_providers::http_provider::SettingsError;
use toolcrib_sandbox::BackendKind;
use toolcrib_store::vault::{Vault, VaultError};

use crate::hooks::CommandHook;
use crate::permission_table::PermissionTable;
use crate::python_settings::PythonSettings;
use crate::tool_search::ToolSearchSettings;

/// Default interval of the health checks of paired apps.
const APP_HEALTH_INTERVAL: Duration = Duration::from_secs(30);

/// All settings of a Toolcrib. The state folder has no default, because a library must not use the
/// home folder on its own.
///
/// ```
/// use toolcrib_app::Settings;
///
/// let mut settings = Settings::new("workspace", "state");
/// settings.database = Some("state/toolcrib.db".into());
/// settings.allow_net.push("127.0.0.1:8080".to_owned());
/// assert!(settings.workbench.is_none(), "no tool runs programs unless you say so");
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folders that file tools may access; the first is the workspace. Without any, there are no
    /// file tools.
    pub roots: Vec<PathBuf>,
    /// Folder for artifacts and undo journals; no tool can reach it.
    pub state: PathBuf,
    /// Non-public targets that HTTP tools may reach: `host:port`, `address:port`,
    /// `network/bits[:port]`.
    pub allow_net: Vec<String>,
    /// Ports on which this program listens; tools can never reach them, even if they are allowed.
    pub own_ports: OwnPorts,
    /// Fixed name resolution, `HOST=ADDR[,ADDR]`; if set, no other name is resolved.
    pub resolve: Vec<String>,
    /// Presets, per-tool overrides, limits.
    pub engine: EngineSettings,
    /// Database file for conversations, runs, approvals and grants; `None` keeps them in memory
    /// until the process ends.
    pub database: Option<PathBuf>,
    /// Folders of tools, each a source with its id.
    pub tool_folders: Vec<ToolFolder>,
    /// Files and folders that file tools must not access even inside a root, in addition to state
    /// and tool folders: configuration and keys.
    pub protected: Vec<PathBuf>,
    /// Rules of all layers.
    pub rules: RuleSet,
    /// Permissions that are granted, asked for or refused.
    pub permissions: PermissionTable,
    /// Hook programs in the order in which they run. They run in the first root.
    pub hooks: Vec<CommandHook>,
    /// The vault: all its secrets are masked, and tools get those assigned to them. Without a
    /// vault, a waiting call with a secret in its arguments can continue only in this process.
    pub vault: Option<Vault>,
    /// Names of secrets used as configuration values, by tool and key.
    pub secret_config: HashMap<String, HashMap<String, String>>,
    /// Policy of programs that tools run; `None` disables them. Workspace folders and protected
    /// paths are added from the other settings.
    pub workbench: Option<ProgramPolicy>,
    /// Sandbox backend of programs.
    pub sandbox_backend: BackendKind,
    /// The executable for sandboxes and document workers; its `main` must call
    /// [`crate::worker_entry`] first. `None` is the running one.
    pub sandbox_helper: Option<PathBuf>,
    /// Idle time of a conversation after which its background processes end.
    pub background_idle: Duration,
    /// The desktop's program for opening files; `None` without a desktop.
    pub opener: Option<Opener>,
    /// Whether people are at pages and clients of a daemon, so that `open_url` shows a link there
    /// instead of opening it on this machine's desktop.
    pub links_to_clients: bool,
    /// The services of the web tools.
    pub web: WebSettings,
    /// Settings of notifications.
    pub notifications: NotifySettings,
    /// The owner's calendar; without one (`None`), events are only created as files.
    pub calendar: Option<CalendarSettings>,
    /// File of the mail accounts; `None` disables them.
    pub mail_accounts: Option<std::path::PathBuf>,
    /// File of the chat channels; `None` disables them.
    pub channel_accounts: Option<std::path::PathBuf>,
    /// File of the phone for SMS; `None` disables it.
    pub sms_phone: Option<std::path::PathBuf>,
    /// Interval of the health checks of paired apps, which a daemon makes.
    pub app_health_interval: Duration,
    /// Rules by which drafts are sent without asking.
    pub send_rules: Vec<toolcrib_assistant::draft::SendRule>,
    /// Settings of the heartbeat, which a daemon runs.
    pub heartbeat: HeartbeatSettings,
    /// The user's locale, such as `de-AT`, passed to external tools; it determines the units of
    /// `get_weather`.
    pub locale: Option<String>,
    /// Code execution; `None` disables it.
    pub python: Option<PythonSettings>,
    /// MCP servers; disabled ones are skipped.
    pub mcp_servers: Vec<toolcrib_mcp::client::ServerConfig>,
    /// Settings of the search for tools by models.
    pub discovery: ToolSearchSettings,
}

/// A folder whose subfolders are tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFolder {
    /// Id of the source.
    pub id: String,
    /// The folder; a missing one has no tools.
    pub path: PathBuf,
    /// Whether the content is untrusted, as in a workspace from elsewhere. Its tools then have
    /// critical risk, regardless of their declaration, and get no configured values.
    pub is_untrusted: bool,
}

impl ToolFolder {
    /// Creates a folder of the user's own.
    pub fn new(id: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { id: id.into(), path: path.into(), is_untrusted: false }
    }

    /// Marks the folder as untrusted.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.is_untrusted = true;
        self
    }
}

impl Settings {
    /// Creates settings with one workspace folder, one state folder, and defaults for all other
    /// fields.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, state: impl Into<PathBuf>) -> Self {
        Self {
            roots: vec![root.into()],
            state: state.into(),
            allow_net: Vec::new(),
            own_ports: OwnPorts::default(),
            resolve: Vec::new(),
            engine: EngineSettings::default(),
            database: None,
            tool_folders: Vec::new(),
            protected: Vec::new(),
            rules: RuleSet::default(),
            vault: None,
            secret_config: HashMap::new(),
            permissions: PermissionTable::default(),
            hooks: Vec::new(),
            workbench: None,
            sandbox_backend: BackendKind::Own,
            sandbox_helper: None,
            background_idle: BACKGROUND_IDLE,
            opener: None,
            links_to_clients: false,
            web: WebSettings::default(),
            notifications: NotifySettings::default(),
            calendar: None,
            mail_accounts: None,
            channel_accounts: None,
            sms_phone: None,
            app_health_interval: APP_HEALTH_INTERVAL,
            send_rules: Vec::new(),
            heartbeat: HeartbeatSettings::default(),
            locale: None,
            python: None,
            mcp_servers: Vec::new(),
            discovery: ToolSearchSettings::default(),
        }
    }
}

/// The reason why a Toolcrib could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A folder cannot be used as a root.
    #[error("{0}")]
    Root(String),
    /// The state folder cannot be used.
    #[error("{0}")]
    State(String),
    /// An entry of the network allowlist is invalid.
    #[error("{0}")]
    Net(String),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] crate::stores::StoresError),
    /// The vault cannot be read.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// Stored data cannot be read.
    #[error("the store cannot be read: {0}")]
    Store(#[from] toolcrib_core::StoreError),
    /// A runner needs a Toolcrib that was built for agents.
    #[error("this Toolcrib was not built for agents; call `for_agents` on its builder")]
    NotForAgents,
    /// The embedding provider's settings are invalid.
    #[error(transparent)]
    Embeddings(#[from] SettingsError),
    /// A tool source cannot be loaded.
    #[error("{}", .0.message)]
    Source(toolcrib_core::ToolError),
}
