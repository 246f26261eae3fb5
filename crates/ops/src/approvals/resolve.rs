//! Resolves the shortened id of a question.

use toolcrib_core::ApprovalId;

use crate::context::StoreContext;
use crate::error::{OpError, Resource};
use crate::id_prefix;

/// Maximum number of decided questions among which a shortened id is looked up.
const SCAN_LIMIT: usize = 1_000;

/// Returns the id of the question that `text` names, complete or shortened.
///
/// # Errors
/// [`OpError::NotFound`] with the nearest ids, [`OpError::Ambiguous`], [`OpError::Store`].
pub async fn resolve_approval(ctx: &StoreContext<'_>, text: &str) -> Result<ApprovalId, OpError> {
    if let Ok(id) = text.parse::<ApprovalId>()
        && ctx.stores.approvals.get(id).await?.is_some()
    {
        return Ok(id);
    }
    let known = known_ids(ctx).await?;
    match text.parse::<ApprovalId>() {
        Err(_) => id_prefix::resolve(Resource::Approval, text, &known),
        Ok(_) => {
            let near = id_prefix::nearest(text, &known).iter().map(ToString::to_string).collect();
            Err(OpError::NotFound { what: Resource::Approval, name: text.to_owned(), near })
        }
    }
}

/// Returns the ids of questions that wait, and of the newest others, each once.
///
/// # Errors
/// [`OpError::Store`].
pub async fn known_ids(ctx: &StoreContext<'_>) -> Result<Vec<ApprovalId>, OpError> {
    let waiting = ctx.stores.approvals.pending().await?;
    let all = ctx.stores.approvals.list(ctx.owner, SCAN_LIMIT).await?;
    let mut ids: Vec<ApprovalId> = waiting.iter().map(|request| request.id).collect();
    ids.extend(all.iter().map(|(waiting, _)| waiting.request.id));
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
