//! Code execution, as it is set up here: where its parts are, and what no code may see.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_chain::{Environment, SavedChains, Setup, ToolSearch, Workers};
use toolcrib_sandbox::{Backend, Level, Local};

use crate::settings::ToolFolder;

/// Bytes of memory of one kernel: a table of some hundred thousand rows with numpy, pandas and matplotlib loaded takes half of it.
const MEMORY: u64 = 2 << 30;

/// What code execution needs of the program around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSettings {
    /// The executable whose `main` calls [`worker_entry`](crate::python::worker_entry) and
    /// [`sandbox::worker_entry`](crate::sandbox::worker_entry): this one, in a program that does.
    pub worker: PathBuf,
    /// Whether more than the embedded interpreter may be used.
    pub full: bool,
    /// The Python of the level `full`; `None` = the managed environment, else the first that works in `PATH`.
    pub program: Option<PathBuf>,
    /// Variables by which a Python is found and asked what it is, `PATH` and `HOME` among them. Code sees none of them.
    pub env: Vec<(OsString, OsString)>,
}

/// The managed environment of this state folder.
#[must_use]
pub fn python_environment(state: &Path) -> Environment {
    Environment::new(state.join("python/environment"))
}

/// How Python is run with these settings; no code sees what is `denied`. It runs on this backend, or on one of its own, and scripts find tools like
/// this.
pub(crate) fn setup(
    settings: &PythonSettings,
    state: &Path,
    denied: Vec<PathBuf>,
    backend: Option<Arc<dyn Backend>>,
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
        minimum: Level::Reduced,
        memory: MEMORY,
        workers: Workers::default(),
    }
}

/// The scripts in a folder of tools.
pub(crate) fn saved_chains(folder: &ToolFolder, setup: &Setup) -> SavedChains {
    SavedChains::new(format!("{}-chains", folder.id), &folder.path, folder.of_anybody, setup)
}
