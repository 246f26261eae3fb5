//! Code execution, as it is set up here: where its parts are, and what no code may see.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_chain::{Environment, Setup};
use toolcrib_core::entry::FixedSource;
use toolcrib_sandbox::{Level, Local};

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

/// The source of `code_exec`; no code sees what is `denied`.
pub(crate) fn source(settings: &PythonSettings, state: &Path, denied: Vec<PathBuf>) -> FixedSource {
    let PythonSettings { worker, full, program, env } = settings.clone();
    toolcrib_chain::source(Setup {
        backend: Arc::new(Local::with_helper(worker.clone())),
        worker,
        full,
        program,
        env,
        environment: python_environment(state),
        scratch: state.join("python/scratch"),
        suspended: state.join("python/suspended"),
        search: Arc::new(toolcrib_chain::ByWords),
        denied,
        minimum: Level::Reduced,
        memory: MEMORY,
    })
}
