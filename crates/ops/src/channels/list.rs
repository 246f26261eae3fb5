//! Lists channels.

use super::row::ChannelReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Returns all channels.
///
/// # Errors
/// [`OpError::Unusable`].
pub fn list(ctx: &OpContext<'_>) -> Result<Vec<ChannelReply>, OpError> {
    Ok(ctx.toolcrib.channel_accounts().list()?.iter().map(Into::into).collect())
}
