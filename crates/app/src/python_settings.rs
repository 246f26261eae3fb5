//! Settings of code execution: the paths of its parts, and the paths that no code may see.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_code_mode::{
    MaskFinder, SavedChains, Setup, SharedWorkerPool, ToolSearch, VirtualEnv,
};
use toolcrib_sandbox::{Backend, Level, Local};

use crate::settings::ToolFolder;

/// Memory limit of one kernel, in bytes; a table of some hundred thousand rows with numpy, pandas
/// and matplotlib loaded takes half of it.
const MAX_MEMORY: u64 = 2 << 30;

/// Settings of code execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSettings {
    /// The executable whose `main` calls [`worker_entry`](crate::worker_entry); usually the running
    /// one.
    pub worker: PathBuf,
    /// Whether CPython may be used, not only the embedded interpreter.
    pub full: bool,
    /// The CPython of the level `full`; `None` uses the managed environment, otherwise the first
    /// working one in `PATH`.
    pub program: Option<PathBuf>,
    /// Variables for finding and probing a Python, including `PATH` and `HOME`. Executed code sees
    /// none of them.
    pub env: Vec<(OsString, OsString)>,
}

/// Returns the managed environment of this state folder.
#[must_use]
pub fn python_environment(state: &Path) -> VirtualEnv {
    VirtualEnv::new(state.join("python/environment"))
}

/// Builds the setup of Python from these settings: paths in `denied` and those that `masks` finds
/// are hidden from code, processes run on `backend` or a backend of their own, and scripts find
/// tools with `search`.
pub(crate) fn python_setup(
    settings: &PythonSettings,
    state: &Path,
    denied: Vec<PathBuf>,
    backend: Option<Arc<dyn Backend>>,
    masks: Arc<dyn MaskFinder>,
    search: Arc<dyn ToolSearch>,
) -> Setup {
    let PythonSettings { worker, full, program, env } = settings.clone();
    Setup {
        backend: backend.unwrap_or_else(|| Arc::new(Local::with_helper(worker.clone()))),
        worker,
        full,
        program,
        env,
        environment: python_environment(state),
        scratch: state.join("python/scratch"),
        suspended: state.join("python/suspended"),
        search,
        denied,
        masks,
        minimum: Level::Reduced,
        memory: MAX_MEMORY,
        workers: SharedWorkerPool::default(),
    }
}

/// Returns the saved scripts in a folder of tools.
pub(crate) fn saved_chains(folder: &ToolFolder, setup: &Setup) -> SavedChains {
    SavedChains::new(format!("{}-chains", folder.id), &folder.path, folder.is_untrusted, setup)
}
