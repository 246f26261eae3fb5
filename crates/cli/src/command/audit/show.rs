//! `toolcrib audit show CALL|NUMBER`: what is recorded of a call, or one record.

use serde_json::Value;
use toolcrib_app::Stores;
use toolcrib_app::core::audit::LOCAL_CHAIN;
use toolcrib_app::core::{AuditRow, CallId};

use super::record;
use crate::command::past::{self, store};
use crate::output::{self, Failure};
use crate::world;

pub(super) fn run(what: &str, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let stores = world::stores()?;
        if let Some((chain, seq)) = place(what) {
            let row = numbered(&stores, chain, seq).await?;
            if json {
                output::document(&record::machine(&row), true)?;
            } else {
                output::data(&record::card(&row))?;
            }
            return Ok(0);
        }
        let rows = of_call(&stores, what).await?;
        if json {
            output::document(&rows.iter().map(record::machine).collect::<Value>(), true)?;
        } else {
            let cards: Vec<String> = rows.iter().map(record::card).collect();
            output::data(&cards.join("\n"))?;
        }
        Ok(0)
    })
}

/// `NUMBER` or `CHAIN:NUMBER`.
fn place(text: &str) -> Option<(Option<u64>, u64)> {
    match text.split_once(':') {
        Some((chain, seq)) => Some((Some(chain.parse().ok()?), seq.parse().ok()?)),
        None => Some((None, text.parse().ok()?)),
    }
}

async fn numbered(stores: &Stores, chain: Option<u64>, seq: u64) -> Result<AuditRow, Failure> {
    let chains = stores.audit.chains().await.map_err(store)?;
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
    let found = stores.audit.records(chain, seq.saturating_sub(1), 1).await.map_err(store)?;
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

async fn of_call(stores: &Stores, text: &str) -> Result<Vec<AuditRow>, Failure> {
    // A call whose row is gone is still in the audit.
    if let Ok(call) = text.trim().parse::<CallId>() {
        let rows = stores.audit.records_of(call).await.map_err(store)?;
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
    let call = past::call(stores, text).await?;
    let rows = stores.audit.records_of(call).await.map_err(store)?;
    if rows.is_empty() {
        return Err(Failure::not_found(format!("nothing is recorded of {call} yet")));
    }
    Ok(rows)
}
