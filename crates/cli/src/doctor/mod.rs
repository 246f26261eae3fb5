//! What is wrong with this installation, and what to do about it: one line for each thing that was looked at.
//!
//! Nothing is changed unless repairs are asked for, and then only what is safe: modes of files that are the person's, folders that are
//! missing, what a dead daemon left behind.

mod configuration;
mod daemon;
mod database;
mod finding;
mod folders;
mod machine;
mod providers;
mod sandbox;

pub(crate) use finding::{Finding, State};

use std::path::Path;

use crate::config;
use crate::config::Env;
use crate::output::Failure;

/// How it is looked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Doctor {
    /// Repair what is safe to repair.
    pub(crate) fix: bool,
    /// Ask providers too.
    pub(crate) online: bool,
}

/// Looks at everything.
///
/// # Errors
/// Exit code 3 when there is no home to look at.
pub(crate) async fn examine(doctor: Doctor, workspace: &Path) -> Result<Vec<Finding>, Failure> {
    let mut found = configuration::look(workspace).await;
    found.extend(folders::look(doctor.fix)?);
    // What is read with its keys is read after its modes were repaired.
    found.extend(database::look().await?);
    found.extend(daemon::look(doctor.fix).await?);
    found.extend(sandbox::look().await);
    found.extend(machine::look()?);
    let config = config::load(&Env::of_process(), Some(workspace));
    if let Ok(config) = config {
        found.extend(providers::look(&config, doctor.online).await);
    }
    Ok(found)
}
