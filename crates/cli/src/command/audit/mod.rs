//! `toolcrib audit`: what is recorded of calls and decisions, and the proof that it was not edited.

mod export;
mod export_bundle;
mod record_text;
mod show;
mod tail;
mod verify;
mod verify_bundle;

use std::path::PathBuf;

use toolcrib_app::Stores;
use toolcrib_app::audit::PAGE;
use toolcrib_app::core::{AuditRow, AuditStore};

use super::lookup::store_failure;
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

/// Where the key and the anchors are kept, outside the database.
fn audit_folder() -> Result<PathBuf, Failure> {
    Ok(Stores::audit_folder(&bootstrap::database_path()?))
}

/// The records of a chain after this number, to this one, page by page.
async fn for_each_page(
    audit: &dyn AuditStore,
    chain: u64,
    mut after: u64,
    to: u64,
    mut each: impl FnMut(&[AuditRow]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    loop {
        let page = audit.records(chain, after, PAGE).await.map_err(store_failure)?;
        let in_range = page.partition_point(|row| row.seq <= to);
        each(page.get(..in_range).unwrap_or_default())?;
        match page.last() {
            Some(last) if last.seq > after && last.seq < to => after = last.seq,
            _ => return Ok(()),
        }
    }
}
