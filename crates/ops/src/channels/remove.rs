//! Removes a channel.

use super::row::ChannelReply;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;

/// Removes a channel, its token, and its state; conversations stay.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Unusable`], [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn remove(ctx: &OpContext<'_>, channel: &str) -> Result<ChannelReply, OpError> {
    let removed = ctx.toolcrib.channel_accounts().remove(channel).await?;
    let channels = ctx.toolcrib.chat_channels();
    channels.forget(ctx.store.owner, &removed.state_key()).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    record(&ctx.store, secrets, Act::new("channel.remove", removed.id.as_str())).await?;
    Ok((&removed).into())
}
