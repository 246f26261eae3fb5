//! `toolcrib audit`: the records of calls and decisions, and the proof that they were not edited.

mod export;
mod export_bundle;
mod record_text;
mod show;
mod tail;
mod verify;
mod verify_bundle;

use std::path::PathBuf;

use toolcrib_app::Stores;

use crate::bootstrap;
use crate::clap_args::Audit;
use crate::output::Failure;

pub(crate) fn run(command: &Audit, json: bool) -> Result<u8, Failure> {
    match command {
        Audit::Tail(command) => tail::run(command, json),
        Audit::Show { what } => show::run(what, json),
        Audit::Export(command) => export::run(command, json),
        Audit::Verify(command) => verify::run(command, json),
    }
}

/// Returns the folder of the key and the anchors, outside the database.
fn audit_folder() -> Result<PathBuf, Failure> {
    Ok(Stores::audit_folder(&bootstrap::database_path()?))
}
