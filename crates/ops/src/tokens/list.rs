//! Lists tokens.

use toolcrib_core::TokenId;

use super::context::{TokenContext, now};
use super::row::TokenRow;
use crate::error::OpError;

/// A part of the list.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListTokensRequest {
    /// Only tokens after this one; `None` starts with the first.
    pub after: Option<TokenId>,
    /// Maximum number of tokens; `None` lists all.
    pub limit: Option<usize>,
}

/// Lists tokens, oldest first, including expired and revoked ones.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &TokenContext<'_>,
    request: ListTokensRequest,
) -> Result<Vec<TokenRow>, OpError> {
    let tokens = ctx.visible().await?.into_iter();
    // Ids are ordered by time.
    let tokens = tokens.filter(|token| request.after.is_none_or(|after| token.id > after));
    let now = now();
    let limit = request.limit.unwrap_or(usize::MAX);
    Ok(tokens.take(limit).map(|token| TokenRow::new(token, now)).collect())
}
