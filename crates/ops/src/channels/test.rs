//! Tests the token of a channel.

use super::row::ChannelReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Asks the service of a channel who it is.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Denied`] if the service refuses the token,
/// [`OpError::Unavailable`] if it cannot be reached, [`OpError::Unusable`].
pub async fn test(ctx: &OpContext<'_>, channel: &str) -> Result<ChannelReply, OpError> {
    Ok((&ctx.toolcrib.channel_accounts().test(channel).await?).into())
}
