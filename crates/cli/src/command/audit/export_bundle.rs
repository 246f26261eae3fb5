//! `toolcrib audit export --bundle FILE`: self-contained evidence.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::audit::{BundleRequest, bundle};

use crate::clap_args::{AuditExportArgs, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

pub(super) fn run(command: &AuditExportArgs, path: &Path, json: bool) -> Result<u8, Failure> {
    let failed =
        |error: io::Error| Failure::run(format!("cannot write {}: {error}", path.display()));
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    let partial = PathBuf::from(name);
    let mut file = File::create(&partial).map_err(failed)?;
    let written = bootstrap::block_on(write(command, &mut file)).and_then(|records| {
        file.sync_all().and_then(|()| fs::rename(&partial, path)).map_err(failed)?;
        Ok(records)
    });
    let records = written.inspect_err(|_| drop(fs::remove_file(&partial)))?;
    if json {
        output::print_json(&json!({"bundle": path, "records": records}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: wrote {records} records to {}", path.display()));
    }
    Ok(0)
}

/// Writes the bundle; returns the number of its records.
async fn write(command: &AuditExportArgs, file: &mut File) -> Result<u64, Failure> {
    let more_keys = match &command.key {
        Some(path) => fs::read_to_string(path).map_err(|error| {
            Failure::configuration(format!("cannot read {}: {error}", path.display()))
        })?,
        None => String::new(),
    };
    let world = WorkspaceArgs { workspace: command.workspace.clone(), ..WorkspaceArgs::default() };
    let toolcrib = bootstrap::build_with_stores(&world).await?;
    let ctx = op_context::for_toolcrib(&toolcrib, None);
    let mut export = bundle(&ctx, &Recorder::None, BundleRequest { more_keys }).await?;
    while let Some(bytes) = export.next().await.map_err(|error| Failure::run(error.to_string()))? {
        file.write_all(&bytes)?;
    }
    Ok(export.records())
}
