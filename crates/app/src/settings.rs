//! What a Toolcrib is set up with.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use toolcrib_builtins::Opener;
use toolcrib_builtins::shell::BACKGROUND_IDLE;
use toolcrib_builtins::workbench::Confines;
use toolcrib_engine::EngineSettings;
use toolcrib_engine::rules::RuleSet;
use toolcrib_net::OwnPorts;
use toolcrib_providers::live::LiveError;
use toolcrib_sandbox::Maker;
use toolcrib_store::vault::{Vault, VaultError};

use crate::discovery::DiscoverySettings;
use crate::hooks::CommandHook;
use crate::permissions::PermissionTable;
use crate::python_settings::PythonSettings;

/// Everything that can be set. The state folder has no default: a library does not look for a home folder.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folders that file tools may touch; the first is the workspace. Empty = no file tools.
    pub roots: Vec<PathBuf>,
    /// Where artifacts and undo journals are kept; out of reach of every tool.
    pub state: PathBuf,
    /// Targets that HTTP tools may reach although they are not public: `host:port`, `address:port`, `network/bits[:port]`.
    pub allow_net: Vec<String>,
    /// Ports at which this program itself listens, which no tool reaches whatever is allowed.
    pub own_ports: OwnPorts,
    /// Fixed answers of name resolution, `HOST=ADDR[,ADDR]`; where there are any, nothing else is looked up.
    pub resolve: Vec<String>,
    /// Presets, per-tool overrides, limits.
    pub engine: EngineSettings,
    /// File of the database that holds conversations, runs, approvals and grants; `None` = they are kept in memory and gone with the
    /// process.
    pub database: Option<PathBuf>,
    /// Folders of tools, each a source with its id.
    pub tool_folders: Vec<ToolFolder>,
    /// Files and folders that no file tool may touch even inside a root, beside the state and the folders of tools: configuration and keys.
    pub protected: Vec<PathBuf>,
    /// Rules of all layers: who may call what.
    pub rules: RuleSet,
    /// What the host grants, asks about and refuses.
    pub permissions: PermissionTable,
    /// Programs that are asked before calls, or told of them, in their order. They run in the first root.
    pub hooks: Vec<CommandHook>,
    /// Where secrets are kept: every one of them is masked, and tools get those that are theirs. `None` = there are none, and a call that
    /// waits with a secret in its arguments can go on in this process alone.
    pub vault: Option<Vault>,
    /// Names of secrets that stand for configuration values, by tool and key.
    pub secret_config: HashMap<String, HashMap<String, String>>,
    /// How tools run programs; `None` = no tool does. Its folders of the workspace, and what of ours no program may see, come from the other
    /// settings beside what is in it.
    pub workbench: Option<Confines>,
    /// What makes the walls around programs.
    pub sandbox_backend: Maker,
    /// The executable that makes sandboxes and reads documents: its `main` calls [`crate::worker_entry`] first. `None` = this very one.
    pub sandbox_helper: Option<PathBuf>,
    /// How long a program in the background runs when nobody uses the shell or the processes of its conversation.
    pub background_idle: Duration,
    /// The program that opens files on the person's desktop; `None` = there is no desktop.
    pub opener: Option<Opener>,
    /// The person's locale, such as `de-AT`, which tools of folders are told.
    pub locale: Option<String>,
    /// Code execution; `None` = there is no tool for it.
    pub python: Option<PythonSettings>,
    /// MCP servers whose tools are offered; those that are off are left out.
    pub mcp_servers: Vec<toolcrib_mcp::client::ServerConfig>,
    /// How models find tools.
    pub discovery: DiscoverySettings,
}

/// A folder whose sub-folders are tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFolder {
    /// Id of the source.
    pub id: String,
    /// The folder; one that does not exist has no tools.
    pub path: PathBuf,
    /// Whether anybody may have written what is in it, as in a workspace that came from elsewhere: its tools are then of critical risk,
    /// whatever they say of themselves, and get no configured values.
    pub of_anybody: bool,
}

impl ToolFolder {
    /// A folder of the person's own.
    pub fn new(id: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { id: id.into(), path: path.into(), of_anybody: false }
    }

    /// The same of whoever wrote the workspace.
    #[must_use]
    pub fn of_anybody(mut self) -> Self {
        self.of_anybody = true;
        self
    }
}

impl Settings {
    /// One workspace folder, one state folder, defaults for all else.
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
            sandbox_backend: Maker::Own,
            sandbox_helper: None,
            background_idle: BACKGROUND_IDLE,
            opener: None,
            locale: None,
            python: None,
            mcp_servers: Vec::new(),
            discovery: DiscoverySettings::default(),
        }
    }
}

/// Why a Toolcrib could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A folder cannot be used as a root.
    #[error("{0}")]
    Root(String),
    /// An entry of the network allow list cannot be read.
    #[error("{0}")]
    Net(String),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] crate::stores::StoresError),
    /// The vault cannot be read.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// What is stored cannot be read.
    #[error("the store cannot be read: {0}")]
    Store(#[from] toolcrib_core::StoreError),
    /// A runner was made of a Toolcrib without the tools of the loop.
    #[error("this Toolcrib was not built for agents; call `for_agents` on its builder")]
    NotForAgents,
    /// The provider of embeddings cannot be asked.
    #[error(transparent)]
    Embeddings(#[from] LiveError),
    /// A source of tools cannot be loaded.
    #[error("{}", .0.message)]
    Source(toolcrib_core::ToolError),
}
