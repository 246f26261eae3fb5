//! Lists scripts.

use super::files::run_blocking;
use super::row::ChainRow;
use crate::context::OpContext;
use crate::error::OpError;

/// Lists the scripts, in the order of their folders.
///
/// # Errors
/// [`OpError::Internal`].
pub async fn list(ctx: &OpContext<'_>) -> Result<Vec<ChainRow>, OpError> {
    let chains = run_blocking(ctx.toolcrib, |toolcrib| toolcrib.saved_chains()).await?;
    Ok(chains.iter().map(ChainRow::from).collect())
}
