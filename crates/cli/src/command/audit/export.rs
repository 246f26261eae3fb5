//! `toolcrib audit export`: the records with hashes and checkpoints, as JSON lines that can be verified elsewhere.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use toolcrib_app::audit::ExportLine;
use toolcrib_app::core::audit::genesis;
use toolcrib_app::core::{AuditRow, AuditStore};

use super::{pages, record};
use crate::cli::{Export, ExportFormat, Since};
use crate::command::past::store;
use crate::output::{self, Failure};
use crate::world;

pub(super) fn run(command: &Export, json: bool) -> Result<u8, Failure> {
    let ExportFormat::Jsonl = command.format;
    let audit = world::stores()?.audit;
    let written = match &command.output {
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            let written = world::block_on(write(&*audit, command.since, &mut out))?;
            out.flush()?;
            written
        }
        Some(path) => {
            let failed = |error: io::Error| {
                Failure::run(format!("cannot write {}: {error}", path.display()))
            };
            let mut out = BufWriter::new(File::create(path).map_err(failed)?);
            let written = world::block_on(write(&*audit, command.since, &mut out))?;
            let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
            file.sync_all().map_err(failed)?;
            written
        }
    };
    output::remark(&format!("{written} records exported"), json);
    Ok(0)
}

/// Writes every chain; the number of records.
async fn write(
    audit: &dyn AuditStore,
    since: Option<Since>,
    out: &mut dyn io::Write,
) -> Result<u64, Failure> {
    let mut written = 0;
    for (chain, last) in audit.chains().await.map_err(store)? {
        let (after, hash) = begin(audit, chain, last, since).await?;
        line(out, &ExportLine::Chain { chain, after, hash })?;
        for checkpoint in audit.checkpoints(chain).await.map_err(store)? {
            // Others go on writing: what is newer than the end of this export is not part of it.
            if (after..=last).contains(&checkpoint.seq) {
                line(out, &ExportLine::Checkpoint(checkpoint))?;
            }
        }
        pages(audit, chain, after, last, |page| {
            for row in page {
                line(out, &ExportLine::Record(row.clone()))?;
                written += 1;
            }
            Ok(())
        })
        .await?;
        line(out, &ExportLine::End { chain, seq: last })?;
    }
    Ok(written)
}

fn line(out: &mut dyn io::Write, line: &ExportLine) -> Result<(), Failure> {
    Ok(writeln!(out, "{}", line.text())?)
}

/// Number and hash of the record before the first one.
async fn begin(
    audit: &dyn AuditStore,
    chain: u64,
    last: u64,
    since: Option<Since>,
) -> Result<(u64, String), Failure> {
    let whole = (0, toolcrib_app::core::canonical::hex(&genesis(chain)));
    let before = match since {
        None => return Ok(whole),
        Some(Since::Number(number)) => number.saturating_sub(1).min(last),
        Some(Since::Time(time)) => before_time(audit, chain, last, time).await?,
    };
    let found = audit.records(chain, before.saturating_sub(1), 1).await.map_err(store)?;
    // What was taken out cannot be begun after; the verification of the whole export names it.
    let found = found.into_iter().find(|row| row.seq == before);
    Ok(found.map_or(whole, |row| (row.seq, row.hash)))
}

/// Number of the last record before the first one of this time or later.
async fn before_time(
    audit: &dyn AuditStore,
    chain: u64,
    last: u64,
    time: i64,
) -> Result<u64, Failure> {
    let is_late = |row: &AuditRow| {
        let at = record::machine(row).pointer("/record/at").and_then(serde_json::Value::as_i64);
        at.is_some_and(|at| at >= time)
    };
    let mut first = None;
    pages(audit, chain, 0, last, |page| {
        // Clocks are put back: the first one counts, whatever follows it.
        if first.is_none() {
            first = page.iter().find(|row| is_late(row)).map(|row| row.seq);
        }
        Ok(())
    })
    .await?;
    Ok(first.map_or(last, |first| first.saturating_sub(1)))
}
