//! Lists records of the audit.

use super::record::RecordReply;
use super::record_filter::RecordFilter;
use super::reverse_reader::{ChainPositions, ReverseReader};
use crate::context::StoreContext;
use crate::error::OpError;

/// Maximum number of records that one request reads, so that a filter without matches ends, too.
const MAX_SCANNED: u64 = 20_000;

/// Request for a page of the list.
#[derive(Debug, Clone, Default)]
pub struct ListRecordsRequest {
    /// Filter of records.
    pub filter: RecordFilter,
    /// Only records before these positions; `None` starts with the newest.
    pub before: Option<ChainPositions>,
    /// Maximum number of records.
    pub limit: usize,
}

/// A page of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListRecordsReply {
    /// The records, newest first.
    pub records: Vec<RecordReply>,
    /// `before` of the next page; `None` if there is none. A page may be short and still have a
    /// next one, because matching records may be older.
    pub next: Option<ChainPositions>,
}

/// Lists records of the caller's owner, newest first; with a call, all records of the call.
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
