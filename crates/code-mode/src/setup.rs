//! Setup of code execution: its configuration.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::{BoxFuture, PathDenials, ToolError};
use toolcrib_sandbox::{Backend, Level};

use crate::cpython_level::virtual_env::VirtualEnv;
use crate::expression_level::worker_pool::SharedWorkerPool;
use crate::tool_chain::ToolSearch;

/// Configuration of code execution.
#[derive(Clone)]
pub struct Setup {
    /// The sandbox backend.
    pub backend: Arc<dyn Backend>,
    /// The executable whose `main` calls [`worker_entry`](crate::worker_entry).
    pub worker: PathBuf,
    /// Whether the level `full` is allowed.
    pub full: bool,
    /// The Python of the level `full`; `None` uses the managed environment, or else the first
    /// working Python in `PATH`.
    pub program: Option<PathBuf>,
    /// Variables for finding and probing a Python (`PATH`, `HOME`). Code receives none of them.
    pub env: Vec<(OsString, OsString)>,
    /// The managed environment.
    pub environment: VirtualEnv,
    /// Parent of the scratch folders, one per kernel.
    pub scratch: PathBuf,
    /// Folder of suspended scripts.
    pub suspended: PathBuf,
    /// Tool search for scripts.
    pub search: Arc<dyn ToolSearch>,
    /// Files and folders that no code may read, at any location.
    pub denied: Vec<PathBuf>,
    /// Finds the paths that rules hide from code.
    pub masks: Arc<dyn MaskFinder>,
    /// The weakest acceptable sandbox; never less than [`Level::Reduced`].
    pub minimum: Level,
    /// Memory limit of one kernel with all its processes, in bytes.
    pub memory: u64,
    /// The interpreter workers, shared by all tools with this setup.
    pub workers: SharedWorkerPool,
}

/// Finds the paths that must be hidden from a Python process because rules deny them to a call.
pub trait MaskFinder: Send + Sync {
    /// Returns the files and folders that must appear empty.
    ///
    /// # Errors
    /// A refusal for the model if they cannot be found; no process is started then.
    fn masked<'a>(
        &'a self,
        denials: &'a Arc<dyn PathDenials>,
    ) -> BoxFuture<'a, Result<Vec<PathBuf>, ToolError>>;
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("backend", &self.backend.name())
            .field("worker", &self.worker)
            .field("full", &self.full)
            .finish_non_exhaustive()
    }
}
