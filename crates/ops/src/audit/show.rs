//! Shows one record of the audit, or all records of a call.

use toolcrib_core::CallId;
use toolcrib_core::audit::LOCAL_CHAIN;

use super::record::RecordReply;
use crate::context::StoreContext;
use crate::error::OpError;

/// The records to show.
#[derive(Debug, Clone, Copy)]
pub enum ShowRecordsRequest {
    /// One record.
    Number {
        /// Its chain; `None` selects the only one.
        chain: Option<u64>,
        /// Its number in the chain.
        seq: u64,
    },
    /// All records of a call, even if the row of the call no longer exists.
    Call(CallId),
}

/// Shows records of all owners, oldest first; only for the owner of the store.
///
/// # Errors
/// [`OpError::Absent`]; [`OpError::Invalid`] if there are several chains and none is named;
/// [`OpError::Store`].
pub async fn show(
    ctx: &StoreContext<'_>,
    request: ShowRecordsRequest,
) -> Result<Vec<RecordReply>, OpError> {
    match request {
        ShowRecordsRequest::Number { chain, seq } => Ok(vec![by_number(ctx, chain, seq).await?]),
        ShowRecordsRequest::Call(call) => {
            let rows = ctx.stores.audit.records_of(call).await?;
            if rows.is_empty() {
                return Err(OpError::Absent(format!("nothing is recorded of {call} yet")));
            }
            Ok(rows.iter().map(|row| RecordReply::new(ctx, row)).collect())
        }
    }
}

async fn by_number(
    ctx: &StoreContext<'_>,
    chain: Option<u64>,
    seq: u64,
) -> Result<RecordReply, OpError> {
    let audit = &ctx.stores.audit;
    let chains = audit.chains().await?;
    let chain = match (chain, chains.as_slice()) {
        (Some(chain), _) => chain,
        (None, []) => return Err(OpError::Absent("no records yet".to_owned())),
        (None, [(only, _)]) => *only,
        (None, several) => {
            let each: Vec<String> = several
                .iter()
                .map(|(chain, last)| format!("\n  {chain}:1 to {chain}:{last}"))
                .collect();
            return Err(OpError::Invalid(format!(
                "there are several chains; say which is meant:{}",
                each.concat()
            )));
        }
    };
    let rows = audit.records(chain, seq.saturating_sub(1), 1).await?;
    let row = rows.iter().find(|row| row.seq == seq);
    row.map(|row| RecordReply::new(ctx, row)).ok_or_else(|| {
        let newest = chains.iter().find(|(of, _)| *of == chain);
        let of_chain =
            if chain == LOCAL_CHAIN { String::new() } else { format!(" in chain {chain}") };
        OpError::Absent(match newest {
            Some((_, last)) => {
                format!("there is no record {seq}{of_chain}; the newest is {last}")
            }
            None => format!("there is no chain {chain}"),
        })
    })
}
