//! Determines from the audit whether the changes of a call were undone.

use serde::Deserialize;
use toolcrib_core::{AuditRow, CallRow, Effect};

use crate::context::StoreContext;
use crate::error::OpError;

/// The relevant fields of an audit record.
#[derive(Deserialize)]
struct AuditedAct {
    at: i64,
    operation: Option<String>,
}

/// Returns the time at which the call's changes were undone, in milliseconds since 1970; `None` if
/// they were not undone, or were redone since.
pub(super) fn undone_at(audit: &[AuditRow]) -> Option<i64> {
    let mut undone = None;
    for row in audit {
        let Ok(act) = serde_json::from_str::<AuditedAct>(&row.text) else { continue };
        match act.operation.as_deref() {
            Some("changes.undo") => undone = Some(act.at),
            Some("changes.redo") => undone = None,
            _ => {}
        }
    }
    undone
}

/// Returns the time for a row of the history. A call that changes nothing, or never started, is not
/// looked up.
pub(super) async fn find_undone(
    ctx: &StoreContext<'_>,
    row: &CallRow,
) -> Result<Option<i64>, OpError> {
    let may_change = row.facts.effect.is_some_and(|effect| effect > Effect::Read);
    if !may_change || row.started_at.is_none() {
        return Ok(None);
    }
    Ok(undone_at(&ctx.stores.audit.records_of(row.facts.call).await?))
}
