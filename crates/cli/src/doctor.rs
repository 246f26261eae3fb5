//! Diagnosis of this installation: one finding per check, with the remedy of each problem.
//!
//! Repairs are made only on request, and only safe ones: modes of the user's files, missing
//! folders, and leftovers of a daemon that crashed.

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

/// Options of a diagnosis.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DoctorOptions {
    /// Makes safe repairs.
    pub(crate) fix: bool,
    /// Also checks that providers respond.
    pub(crate) online: bool,
}

/// Runs all checks.
///
/// # Errors
/// Exit code 3 if there is no home folder.
pub(crate) async fn run_checks(
    doctor: DoctorOptions,
    workspace: &Path,
) -> Result<Vec<Finding>, Failure> {
    let mut found = configuration::check(workspace).await;
    found.extend(files_and_disk::check(doctor.fix)?);
    // The database and the vault are opened after the modes of their files were repaired.
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
