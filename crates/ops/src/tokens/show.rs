//! Shows one token.

use toolcrib_core::TokenId;

use super::context::{TokenContext, now};
use super::row::TokenRow;
use crate::error::OpError;

/// The token to show.
#[derive(Debug, Clone, Copy)]
pub struct ShowTokenRequest {
    /// Its id.
    pub id: TokenId,
}

/// Shows the stored row of a token; the token itself is not stored.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(ctx: &TokenContext<'_>, request: ShowTokenRequest) -> Result<TokenRow, OpError> {
    Ok(TokenRow::new(ctx.find(request.id).await?, now()))
}
