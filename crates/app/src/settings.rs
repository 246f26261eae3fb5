//! What a Toolcrib is set up with.

use std::path::PathBuf;

use toolcrib_engine::EngineSettings;

/// Everything that can be set. The state folder has no default: a library does not look for a home folder.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folders that file tools may touch; the first is the workspace. Empty = no file tools.
    pub roots: Vec<PathBuf>,
    /// Where artifacts and undo journals are kept; out of reach of every tool.
    pub state: PathBuf,
    /// Targets that HTTP tools may reach although they are not public: `host:port`, `address:port`, `network/bits[:port]`.
    pub allow_net: Vec<String>,
    /// Fixed answers of name resolution, `HOST=ADDR[,ADDR]`; where there are any, nothing else is looked up.
    pub resolve: Vec<String>,
    /// Presets, per-tool overrides, limits.
    pub engine: EngineSettings,
}

impl Settings {
    /// One workspace folder, one state folder, defaults for all else.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, state: impl Into<PathBuf>) -> Self {
        Self {
            roots: vec![root.into()],
            state: state.into(),
            allow_net: Vec::new(),
            resolve: Vec::new(),
            engine: EngineSettings::default(),
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
    /// A source of tools cannot be loaded.
    #[error("{}", .0.message)]
    Source(toolcrib_core::ToolError),
}
