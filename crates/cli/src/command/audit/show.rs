//! `toolcrib audit show CALL|NUMBER`: the records of a call, or one record.

use serde_json::json;
use toolcrib_app::Stores;
use toolcrib_ops::OpError;
use toolcrib_ops::audit::{self, RecordReply, ShowRecordsRequest};
use toolcrib_ops::calls;

use super::record_text;
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

pub(super) fn run(what: &str, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        if let Some(request) = parse_record_number(what) {
            for record in audit::show(&op_context::for_stores(&stores), request).await? {
                if json {
                    output::print_json(&json!(record), true)?;
                } else {
                    output::print_line(&record_text::details(&record))?;
                }
            }
            return Ok(0);
        }
        let records = records_of_call(&stores, what).await?;
        if json {
            output::print_json(&json!(records), true)?;
        } else {
            let cards: Vec<String> = records.iter().map(record_text::details).collect();
            output::print_line(&cards.join("\n"))?;
        }
        Ok(0)
    })
}

/// Parses `NUMBER` or `CHAIN:NUMBER`.
fn parse_record_number(text: &str) -> Option<ShowRecordsRequest> {
    let (chain, seq) = match text.split_once(':') {
        Some((chain, seq)) => (Some(chain.parse().ok()?), seq),
        None => (None, text),
    };
    Some(ShowRecordsRequest::Number { chain, seq: seq.parse().ok()? })
}

async fn records_of_call(stores: &Stores, text: &str) -> Result<Vec<RecordReply>, Failure> {
    let ctx = op_context::for_stores(stores);
    // A call whose row no longer exists is still in the audit.
    if let Ok(call) = text.trim().parse() {
        match audit::show(&ctx, ShowRecordsRequest::Call(call)).await {
            Err(OpError::Absent(_)) => {}
            shown => return Ok(shown?),
        }
    }
    let call = calls::resolve_call(&ctx, text).await?;
    Ok(audit::show(&ctx, ShowRecordsRequest::Call(call)).await?)
}
