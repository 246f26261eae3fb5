//! `toolcrib audit show CALL|NUMBER`: what is recorded of a call, or one record.

use serde_json::Value;
use toolcrib_app::Stores;
use toolcrib_app::core::audit::LOCAL_CHAIN;
use toolcrib_app::core::{AuditRow, CallId};
use toolcrib_ops::calls;

use super::record_text;
use crate::bootstrap;
use crate::command::lookup::store_failure;
use crate::op_context;
use crate::output::{self, Failure};

pub(super) fn run(what: &str, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        if let Some((chain, seq)) = parse_record_number(what) {
            let row = record_by_number(&stores, chain, seq).await?;
            if json {
                output::print_json(&record_text::to_json(&row), true)?;
            } else {
                output::print_line(&record_text::details(&row))?;
            }
            return Ok(0);
        }
        let rows = records_of_call(&stores, what).await?;
        if json {
            output::print_json(&rows.iter().map(record_text::to_json).collect::<Value>(), true)?;
        } else {
            let cards: Vec<String> = rows.iter().map(record_text::details).collect();
            output::print_line(&cards.join("\n"))?;
        }
        Ok(0)
    })
}

/// `NUMBER` or `CHAIN:NUMBER`.
fn parse_record_number(text: &str) -> Option<(Option<u64>, u64)> {
    match text.split_once(':') {
        Some((chain, seq)) => Some((Some(chain.parse().ok()?), seq.parse().ok()?)),
        None => Some((None, text.parse().ok()?)),
    }
}

async fn record_by_number(
    stores: &Stores,
    chain: Option<u64>,
    seq: u64,
) -> Result<AuditRow, Failure> {
    let chains = stores.audit.chains().await.map_err(store_failure)?;
    let chain = match (chain, chains.as_slice()) {
        (Some(chain), _) => chain,
        (None, []) => return Err(Failure::not_found("nothing is recorded yet")),
        (None, [(only, _)]) => *only,
        (None, several) => {
            let each: Vec<String> = several
                .iter()
                .map(|(chain, last)| format!("\n  {chain}:1 to {chain}:{last}"))
                .collect();
            return Err(Failure::usage(format!(
                "there are several chains; say which is meant:{}",
                each.concat()
            )));
        }
    };
    let found =
        stores.audit.records(chain, seq.saturating_sub(1), 1).await.map_err(store_failure)?;
    found.into_iter().find(|row| row.seq == seq).ok_or_else(|| {
        let newest = chains.iter().find(|(of, _)| *of == chain);
        let of_chain =
            if chain == LOCAL_CHAIN { String::new() } else { format!(" in chain {chain}") };
        Failure::not_found(match newest {
            Some((_, last)) => {
                format!("there is no record {seq}{of_chain}; the newest is {last}")
            }
            None => format!("there is no chain {chain}"),
        })
    })
}

async fn records_of_call(stores: &Stores, text: &str) -> Result<Vec<AuditRow>, Failure> {
    // A call whose row is gone is still in the audit.
    if let Ok(call) = text.trim().parse::<CallId>() {
        let rows = stores.audit.records_of(call).await.map_err(store_failure)?;
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
    let call = calls::resolve_call(&op_context::for_stores(stores), text).await?;
    let rows = stores.audit.records_of(call).await.map_err(store_failure)?;
    if rows.is_empty() {
        return Err(Failure::not_found(format!("nothing is recorded of {call} yet")));
    }
    Ok(rows)
}
