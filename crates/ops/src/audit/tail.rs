//! Reads the newest records of the audit, and follows new ones.

use toolcrib_audit::PAGE;
use toolcrib_core::AuditStore;

use super::record::RecordReply;
use super::reverse_reader::ChainPositions;
use crate::context::StoreContext;
use crate::error::OpError;

/// The records to read.
#[derive(Debug, Clone)]
pub enum TailRequest {
    /// The newest records of all chains, at most this many.
    Newest(u64),
    /// All records after the `position` of the previous reply.
    After(ChainPositions),
}

/// The newest records.
#[derive(Debug, Clone, PartialEq)]
pub struct TailReply {
    /// The records of all owners, in the order of their times.
    pub records: Vec<RecordReply>,
    /// The newest record that was read, by chain.
    pub position: ChainPositions,
}

/// Returns the newest records, or those that were written since; only for the owner of the store.
///
/// # Errors
/// [`OpError::Store`].
pub async fn tail(ctx: &StoreContext<'_>, request: TailRequest) -> Result<TailReply, OpError> {
    let audit = &*ctx.stores.audit;
    let (mut position, count) = match request {
        TailRequest::After(position) => (position, None),
        TailRequest::Newest(count) => {
            let chains = audit.chains().await?.into_iter();
            let before = chains.map(|(chain, last)| (chain, last.saturating_sub(count)));
            (before.collect(), Some(usize::try_from(count).unwrap_or(usize::MAX)))
        }
    };
    let mut records = Vec::new();
    for (chain, last) in audit.chains().await? {
        let after = position.entry(chain).or_default();
        if last > *after {
            read_range(ctx, audit, (chain, *after, last), &mut records).await?;
            *after = last;
        }
    }
    if position.len() > 1 {
        records.sort_by_key(|record| record.at().unwrap_or_default());
    }
    let older = count.map_or(0, |count| records.len().saturating_sub(count));
    Ok(TailReply { records: records.split_off(older), position })
}

/// Reads the records of a chain after one number and up to another, page by page.
async fn read_range(
    ctx: &StoreContext<'_>,
    audit: &dyn AuditStore,
    (chain, mut after, to): (u64, u64, u64),
    records: &mut Vec<RecordReply>,
) -> Result<(), OpError> {
    loop {
        let page = audit.records(chain, after, PAGE).await?;
        let in_range = page.iter().take_while(|row| row.seq <= to);
        records.extend(in_range.map(|row| RecordReply::new(ctx, row)));
        match page.last() {
            Some(last) if last.seq > after && last.seq < to => after = last.seq,
            _ => return Ok(()),
        }
    }
}
