//! Shows one grant.

use toolcrib_core::GrantId;

use super::grant::{GrantReply, find};
use super::past_calls;
use crate::context::StoreContext;
use crate::error::OpError;

/// The grant to show.
#[derive(Debug, Clone, Copy)]
pub struct ShowGrantRequest {
    /// Its id.
    pub id: GrantId,
    /// Whether the reply contains the past calls that the grant would have matched.
    pub with_past_calls: bool,
}

/// Shows a grant.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(
    ctx: &StoreContext<'_>,
    request: ShowGrantRequest,
) -> Result<GrantReply, OpError> {
    let grant = find(ctx, request.id).await?;
    let past = if request.with_past_calls { Some(past_calls(ctx, &grant).await?) } else { None };
    Ok(GrantReply { past_calls: past, ..GrantReply::new(ctx, grant) })
}
