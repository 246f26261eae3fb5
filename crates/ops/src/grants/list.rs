//! Lists grants.

use super::grant::GrantReply;
use super::past_calls;
use crate::context::StoreContext;
use crate::error::OpError;

/// All grants of the owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListGrantsRequest {
    /// Whether the reply contains the past calls that each grant would have matched.
    pub with_past_calls: bool,
}

/// Lists all grants, oldest first, including expired ones.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &StoreContext<'_>,
    request: ListGrantsRequest,
) -> Result<Vec<GrantReply>, OpError> {
    let mut replies = Vec::new();
    for grant in ctx.stores.grants.list(ctx.owner).await? {
        let past =
            if request.with_past_calls { Some(past_calls(ctx, &grant).await?) } else { None };
        replies.push(GrantReply { past_calls: past, ..GrantReply::new(ctx, grant) });
    }
    Ok(replies)
}
