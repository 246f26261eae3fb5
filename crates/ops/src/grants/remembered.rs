//! Checks whether a decision was remembered as requested.

use toolcrib_app::grant_from_decision;
use toolcrib_core::{ApprovalId, Grant};

use crate::context::StoreContext;
use crate::error::OpError;

/// Returns whether the stored decision about a question has its grant, which is stored afterwards;
/// `true` if the decision requests no grant.
///
/// # Errors
/// [`OpError::Store`] if the grants cannot be read.
pub async fn is_remembered(ctx: &StoreContext<'_>, question: ApprovalId) -> Result<bool, OpError> {
    let Ok(Some((waiting, Some(record)))) = ctx.stores.approvals.get(question).await else {
        return Ok(true);
    };
    let Some(wanted) = grant_from_decision(&waiting.request, &record) else { return Ok(true) };
    let is_it = |grant: &Grant| {
        grant.operation == wanted.operation
            && grant.args == wanted.args
            && (grant.scope, grant.created_at) == (wanted.scope, wanted.created_at)
    };
    Ok(ctx.stores.grants.list(&wanted.owner).await?.iter().any(is_it))
}
