//! What the tools of this crate may use, and the source of them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Entry, Handler, Typed};
use toolcrib_sandbox::{Backend, Level};

use crate::environment::Environment;
use crate::kernels::Kernels;
use crate::pool::Workers;
use crate::script::{ToolChain, ToolSearch};
use crate::tool::CodeExec;

/// Id of the source.
const SOURCE: &str = "python";

/// What code execution may use.
#[derive(Clone)]
pub struct Setup {
    /// What keeps the code apart.
    pub backend: Arc<dyn Backend>,
    /// The executable whose `main` calls [`worker_entry`](crate::worker_entry).
    pub worker: PathBuf,
    /// Whether the level `full` may be used at all.
    pub full: bool,
    /// The Python of the level `full`; `None` = the managed environment, else the first that works in `PATH`.
    pub program: Option<PathBuf>,
    /// Variables by which a Python is found and asked what it is (`PATH`, `HOME`). Code sees none of them.
    pub env: Vec<(OsString, OsString)>,
    /// The managed environment.
    pub environment: Environment,
    /// Where each kernel gets a folder for its files, which is gone with it.
    pub scratch: PathBuf,
    /// Where scripts are kept that wait for a person.
    pub suspended: PathBuf,
    /// How scripts find tools.
    pub search: Arc<dyn ToolSearch>,
    /// Files and folders that no code may see, wherever they lie.
    pub denied: Vec<PathBuf>,
    /// The weakest sandbox that will do; never less than [`Level::Reduced`].
    pub minimum: Level,
    /// Bytes of memory of one kernel with all its processes.
    pub memory: u64,
    /// The interpreters, which all tools that are made with this share.
    pub workers: Workers,
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

/// The source of `code_exec` and `tool_chain`.
#[must_use]
pub fn source(setup: Setup) -> FixedSource {
    source_with(setup, Arc::default())
}

/// The same with these kernels, for whoever ends them with their runs.
#[must_use]
pub fn source_with(setup: Setup, kernels: Arc<Kernels>) -> FixedSource {
    let chain: Arc<dyn Handler> = Arc::new(ToolChain::new(&setup));
    let code = Typed::handler(CodeExec::new(setup, kernels));
    FixedSource::new(SOURCE, vec![Entry::Local(code), Entry::Local(chain)])
}
