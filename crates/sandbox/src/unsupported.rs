//! Stub for operating systems without a sandbox: everything is rejected, so that nothing runs with
//! less isolation than requested.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toolcrib_net::BoxFuture;

use crate::backend::{Backend, Process};
use crate::job::{Job, JobResult};
use crate::policy::Policy;
use crate::probe_report::Probe;
use crate::{Egress, Level, SandboxError};

/// The sandbox of this host, which has none.
#[derive(Debug, Default)]
pub struct Local;

/// Not available on this system.
#[cfg(not(target_os = "macos"))]
pub type Bubblewrap = Local;
/// Not available on this system.
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
    pub fn max_level(self, _: Level) -> Self {
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
pub fn run_in_process(_: &Job, _: Level, _: &Egress) -> Result<JobResult, SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Returns `None`: there is no helper.
#[must_use]
pub fn helper_entry(_: impl IntoIterator<Item = OsString>) -> Option<u8> {
    None
}
