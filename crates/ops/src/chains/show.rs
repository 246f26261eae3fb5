//! Shows a script.

use super::files::find;
use super::row::ChainDetails;
use crate::context::OpContext;
use crate::error::OpError;

/// Shows a script with its text.
///
/// # Errors
/// [`OpError::NotFound`]; [`OpError::Conflict`] for a file that cannot be read.
pub async fn show(ctx: &OpContext<'_>, name: &str) -> Result<ChainDetails, OpError> {
    let (chain, code) = find(ctx.toolcrib, name).await?;
    Ok(ChainDetails { chain: (&chain).into(), code })
}
