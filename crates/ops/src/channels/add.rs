//! Adds a channel.

use toolcrib_channels::account::NewChannel;

use super::row::ChannelReply;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;

/// A channel to add.
pub struct AddChannelRequest {
    /// The account.
    pub channel: NewChannel,
    /// Its token.
    pub token: String,
}

/// Adds a channel after its service has accepted the token; nothing is saved otherwise.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Denied`] if the service refuses the token,
/// [`OpError::Unavailable`] if it cannot be reached, [`OpError::Unusable`],
/// [`OpError::Unrecorded`].
pub async fn add(ctx: &OpContext<'_>, request: AddChannelRequest) -> Result<ChannelReply, OpError> {
    let AddChannelRequest { channel, token } = request;
    let added = ctx.toolcrib.channel_accounts().add(channel, &token).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let about = format!("{} ({} {})", added.id, added.kind, added.identity);
    record(&ctx.store, secrets, Act::new("channel.add", about)).await?;
    Ok((&added).into())
}
