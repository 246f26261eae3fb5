//! Systems without a sandbox of ours: everything is refused, nothing runs weaker than it was asked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toolcrib_net::BoxFuture;

use crate::backend::{Backend, Process};
use crate::job::{Ended, Job};
use crate::policy::Policy;
use crate::report::Probe;
use crate::{Egress, Level, SandboxError};

/// The sandbox of this host, which has none.
#[derive(Debug, Default)]
pub struct Local;

/// Another program's sandbox, which is not on this system.
#[cfg(not(target_os = "macos"))]
pub type Bubblewrap = Local;
/// The same.
#[cfg(not(target_os = "macos"))]
pub type Gvisor = Local;

impl Local {
    /// See Linux.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    /// See Linux.
    pub fn with_helper(_: impl Into<PathBuf>) -> Self {
        Self
    }

    /// See Linux.
    #[must_use]
    pub fn at_most(self, _: Level) -> Self {
        self
    }

    /// See Linux.
    #[must_use]
    pub fn egress(self, _: Egress) -> Self {
        self
    }
}

impl Backend for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        let probe =
            Probe::nothing("local", "system", "there is no sandbox of ours for this system");
        Box::pin(std::future::ready(probe))
    }

    fn start<'a>(&'a self, _: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>> {
        Box::pin(std::future::ready(Err(SandboxError::Unsupported)))
    }

    fn put<'a>(
        &'a self,
        _: &'a Policy,
        _: &'a Path,
        _: &'a [u8],
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(std::future::ready(Err(SandboxError::Unsupported)))
    }

    fn get<'a>(
        &'a self,
        _: &'a Policy,
        _: &'a Path,
        _: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, SandboxError>> {
        Box::pin(std::future::ready(Err(SandboxError::Unsupported)))
    }
}

/// Runs nothing.
///
/// # Errors
/// Always [`SandboxError::Unsupported`].
pub fn run_here(_: &Job, _: Level, _: &Egress) -> Result<Ended, SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Nothing: there is no helper.
#[must_use]
pub fn worker_entry(_: impl IntoIterator<Item = OsString>) -> Option<u8> {
    None
}
