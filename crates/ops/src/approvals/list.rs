//! Lists questions to people.

use toolcrib_core::ApprovalId;

use super::entry::ApprovalEntry;
use crate::context::StoreContext;
use crate::error::OpError;

/// Filter of questions.
#[derive(Debug, Clone, Copy)]
pub enum ListApprovalsRequest {
    /// Questions that wait, oldest first. All are listed, because they are few.
    Pending,
    /// Questions that wait or were decided, newest first.
    All {
        /// Only questions before this one, for the next page.
        before: Option<ApprovalId>,
        /// Maximum number of questions.
        limit: usize,
    },
}

/// Lists questions.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &StoreContext<'_>,
    request: ListApprovalsRequest,
) -> Result<Vec<ApprovalEntry>, OpError> {
    let store = &ctx.stores.approvals;
    let found = match request {
        ListApprovalsRequest::Pending => {
            let open = store.pending().await?;
            let own = open.into_iter().filter(|request| request.context.owner == ctx.owner);
            return Ok(own.map(|request| ApprovalEntry::new(ctx, request, None)).collect());
        }
        ListApprovalsRequest::All { before: None, limit } => store.list(ctx.owner, limit).await?,
        ListApprovalsRequest::All { before: Some(before), limit } => {
            store.list_before(ctx.owner, before, limit).await?
        }
    };
    let entry = |(waiting, decided): toolcrib_core::store::ApprovalWithDecision| {
        ApprovalEntry::new(ctx, waiting.request, decided)
    };
    Ok(found.into_iter().map(entry).collect())
}
