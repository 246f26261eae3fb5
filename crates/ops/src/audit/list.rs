//! Lists records of the audit.

use super::record::RecordReply;
use super::record_filter::RecordFilter;
use super::reverse_reader::{ChainPositions, ReverseReader};
use crate::context::StoreContext;
use crate::error::OpError;

/// Records that one request reads: a filter that matches nothing ends all the same.
const MAX_SCANNED: u64 = 20_000;

/// A page of the list.
#[derive(Debug, Clone, Default)]
pub struct ListRecordsRequest {
    /// Which records.
    pub filter: RecordFilter,
    /// Only records before these; `None` = from the newest.
    pub before: Option<ChainPositions>,
    /// At most this many.
    pub limit: usize,
}

/// A page of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListRecordsReply {
    /// The records, newest first.
    pub records: Vec<RecordReply>,
    /// `before` of the next page; `None` = there is none. A page may be short and have a next one:
    /// matching records may lie further back.
    pub next: Option<ChainPositions>,
}

/// Lists records of the caller's owner, newest first; with a call, all of the call.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &StoreContext<'_>,
    request: ListRecordsRequest,
) -> Result<ListRecordsReply, OpError> {
    let ListRecordsRequest { filter, before, limit } = request;
    let audit = &*ctx.stores.audit;
    if let Some(call) = filter.call {
        let rows = audit.records_of(call).await?;
        let rows = rows.iter().rev().filter(|row| filter.includes(ctx.owner, row));
        let records = rows.map(|row| RecordReply::new(ctx, row)).collect();
        return Ok(ListRecordsReply { records, next: None });
    }
    let mut reader = ReverseReader::new(audit, before).await?;
    let mut records = Vec::new();
    while records.len() < limit && reader.scanned() < MAX_SCANNED {
        let Some(row) = reader.next().await? else { break };
        if filter.includes(ctx.owner, &row) {
            records.push(RecordReply::new(ctx, &row));
        }
    }
    Ok(ListRecordsReply { records, next: reader.into_next() })
}
