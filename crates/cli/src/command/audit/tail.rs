//! `toolcrib audit tail`: the newest records, and those that follow.

use std::collections::BTreeMap;
use std::time::Duration;

use toolcrib_app::core::{AuditRow, AuditStore};

use super::record;
use crate::cli::Tail;
use crate::command::past::store;
use crate::output::{self, Failure};
use crate::world;

/// How often new records are looked for: another process writes them.
const LOOK: Duration = Duration::from_millis(250);

pub(super) fn run(command: &Tail, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let audit = world::stores()?.audit;
        let mut seen = BTreeMap::new();
        let newest = newest(&*audit, u64::from(command.lines), &mut seen).await?;
        if newest.is_empty() && !command.follow {
            output::remark("nothing is recorded yet", json);
            return Ok(0);
        }
        if !json {
            output::data(&record::head())?;
        }
        print(&newest, json)?;
        if !command.follow {
            return Ok(0);
        }
        // Ends with Ctrl-C, or when nobody reads any more.
        loop {
            tokio::time::sleep(LOOK).await;
            print(&newer(&*audit, &mut seen).await?, json)?;
        }
    })
}

fn print(rows: &[AuditRow], json: bool) -> Result<(), Failure> {
    for row in rows {
        let line = if json { record::machine(row).to_string() } else { record::line(row) };
        output::data(&line)?;
    }
    Ok(())
}

/// The newest records of all chains, in the order of their times. `seen` gets the newest number of each chain.
async fn newest(
    audit: &dyn AuditStore,
    count: u64,
    seen: &mut BTreeMap<u64, u64>,
) -> Result<Vec<AuditRow>, Failure> {
    for (chain, last) in audit.chains().await.map_err(store)? {
        seen.insert(chain, last.saturating_sub(count));
    }
    let mut rows = newer(audit, seen).await?;
    let older = rows.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
    Ok(rows.split_off(older))
}

/// What was written after what was seen.
async fn newer(
    audit: &dyn AuditStore,
    seen: &mut BTreeMap<u64, u64>,
) -> Result<Vec<AuditRow>, Failure> {
    let mut rows = Vec::new();
    for (chain, last) in audit.chains().await.map_err(store)? {
        let after = seen.entry(chain).or_default();
        if last > *after {
            super::pages(audit, chain, *after, last, |page| {
                rows.extend_from_slice(page);
                Ok(())
            })
            .await?;
            *after = last;
        }
    }
    if seen.len() > 1 {
        rows.sort_by_key(at);
    }
    Ok(rows)
}

/// When a record was written, where several chains have to be put in one order.
fn at(row: &AuditRow) -> i64 {
    let at = record::machine(row).pointer("/record/at").and_then(serde_json::Value::as_i64);
    at.unwrap_or_default()
}
