//! `toolcrib audit tail`: the newest records, and those that follow.

use std::collections::BTreeMap;
use std::time::Duration;

use toolcrib_app::core::{AuditRow, AuditStore};

use super::record_text;
use crate::bootstrap;
use crate::clap_args::AuditTailArgs;
use crate::command::lookup::store_failure;
use crate::output::{self, Failure};

/// How often new records are looked for: another process writes them.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

pub(super) fn run(command: &AuditTailArgs, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let audit = bootstrap::stores()?.audit;
        let mut seen = BTreeMap::new();
        let newest = newest_records(&*audit, u64::from(command.lines), &mut seen).await?;
        if newest.is_empty() && !command.follow {
            output::warn("nothing is recorded yet", json);
            return Ok(0);
        }
        if !json {
            output::print_line(&record_text::header())?;
        }
        print(&newest, json)?;
        if !command.follow {
            return Ok(0);
        }
        // Ends with Ctrl-C, or when the reader has closed the pipe.
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            print(&records_after(&*audit, &mut seen).await?, json)?;
        }
    })
}

fn print(rows: &[AuditRow], json: bool) -> Result<(), Failure> {
    for row in rows {
        let line = if json {
            record_text::to_json(row).to_string()
        } else {
            record_text::summary_line(row)
        };
        output::print_line(&line)?;
    }
    Ok(())
}

/// The newest records of all chains, in the order of their times. `seen` gets the newest number of
/// each chain.
async fn newest_records(
    audit: &dyn AuditStore,
    count: u64,
    seen: &mut BTreeMap<u64, u64>,
) -> Result<Vec<AuditRow>, Failure> {
    for (chain, last) in audit.chains().await.map_err(store_failure)? {
        seen.insert(chain, last.saturating_sub(count));
    }
    let mut rows = records_after(audit, seen).await?;
    let older = rows.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
    Ok(rows.split_off(older))
}

/// What was written after what was seen.
async fn records_after(
    audit: &dyn AuditStore,
    seen: &mut BTreeMap<u64, u64>,
) -> Result<Vec<AuditRow>, Failure> {
    let mut rows = Vec::new();
    for (chain, last) in audit.chains().await.map_err(store_failure)? {
        let after = seen.entry(chain).or_default();
        if last > *after {
            super::for_each_page(audit, chain, *after, last, |page| {
                rows.extend_from_slice(page);
                Ok(())
            })
            .await?;
            *after = last;
        }
    }
    if seen.len() > 1 {
        rows.sort_by_key(timestamp);
    }
    Ok(rows)
}

/// When a record was written, where several chains have to be put in one order.
fn timestamp(row: &AuditRow) -> i64 {
    let at = record_text::to_json(row).pointer("/record/at").and_then(serde_json::Value::as_i64);
    at.unwrap_or_default()
}
