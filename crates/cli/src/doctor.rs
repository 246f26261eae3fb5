//! What is wrong with this installation, and what to do about it: one line for each thing that was
//! looked at.
//!
//! Nothing is changed unless repairs are asked for, and then only what is safe: modes of files that
//! are the person's, folders that are missing, what a dead daemon left behind.

mod clock_and_limits;
mod configuration;
mod daemon;
mod database;
mod files_and_disk;
mod finding;
mod mcp_servers;
mod providers;
mod sandbox;

pub(crate) use finding::{Finding, FindingState};

use std::path::Path;

use crate::config;
use crate::config::Env;
use crate::output::Failure;

/// How it is looked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DoctorOptions {
    /// Repair what is safe to repair.
    pub(crate) fix: bool,
    /// Ask providers too.
    pub(crate) online: bool,
}

/// Looks at everything.
///
/// # Errors
/// Exit code 3 when there is no home to look at.
pub(crate) async fn run_checks(
    doctor: DoctorOptions,
    workspace: &Path,
) -> Result<Vec<Finding>, Failure> {
    let mut found = configuration::check(workspace).await;
    found.extend(files_and_disk::check(doctor.fix)?);
    // What is read with its keys is read after its modes were repaired.
    found.extend(database::check().await?);
    found.extend(daemon::check(doctor.fix).await?);
    found.extend(sandbox::check().await);
    found.extend(mcp_servers::check(workspace).await);
    found.extend(clock_and_limits::check()?);
    let config = config::load(&Env::from_process(), Some(workspace));
    if let Ok(config) = config {
        found.extend(providers::check(&config, doctor.online).await);
    }
    Ok(found)
}
