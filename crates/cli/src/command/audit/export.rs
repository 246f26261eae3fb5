//! `toolcrib audit export`: the records with hashes and checkpoints, as JSON lines that can be
//! verified on another machine.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use toolcrib_app::Stores;
use toolcrib_audit::ExportFrom;
use toolcrib_ops::OpError;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::audit::{self, ExportRequest};

use super::export_bundle;
use crate::clap_args::{AuditExportArgs, AuditExportFormat, ExportStart};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

pub(super) fn run(command: &AuditExportArgs, json: bool) -> Result<u8, Failure> {
    if let Some(bundle) = &command.bundle {
        return export_bundle::run(command, bundle, json);
    }
    let AuditExportFormat::Jsonl = command.format;
    let stores = bootstrap::stores()?;
    let from = match command.since {
        None => ExportFrom::Beginning,
        Some(ExportStart::Number(number)) => ExportFrom::Number(number),
        Some(ExportStart::Time(time)) => ExportFrom::Time(time),
    };
    let written = match &command.output {
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            let written = bootstrap::block_on(write(&stores, from, &mut out))?;
            out.flush()?;
            written
        }
        Some(path) => {
            let failed = |error: io::Error| {
                Failure::run(format!("cannot write {}: {error}", path.display()))
            };
            let mut out = BufWriter::new(File::create(path).map_err(failed)?);
            let written = bootstrap::block_on(write(&stores, from, &mut out))?;
            let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
            file.sync_all().map_err(failed)?;
            written
        }
    };
    output::warn(&format!("{written} records exported"), json);
    Ok(0)
}

/// Writes every chain; returns the number of records.
async fn write(stores: &Stores, from: ExportFrom, out: &mut dyn io::Write) -> Result<u64, Failure> {
    let ctx = op_context::for_stores(stores);
    let mut export = audit::export(&ctx, &Recorder::None, ExportRequest { from }).await?;
    while let Some(lines) = export.next().await.map_err(OpError::from)? {
        for line in lines {
            writeln!(out, "{}", line.text())?;
        }
    }
    Ok(export.records())
}
