//! Puts a person on the list of a channel, or takes them from it.

use super::row::ChannelReply;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;

/// A change of the list of a channel.
#[derive(Debug, Clone)]
pub struct AllowPersonRequest {
    /// Name of the channel.
    pub channel: String,
    /// Id of the person at the service.
    pub user: String,
    /// Whether the person is the owner, whose messages are not text from outside.
    pub owner: bool,
    /// Whether the person is taken from the list.
    pub remove: bool,
}

/// Changes the list of a channel.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Invalid`] if that is not the id of a person,
/// [`OpError::Unusable`], [`OpError::Unrecorded`].
pub async fn allow(
    ctx: &OpContext<'_>,
    request: AllowPersonRequest,
) -> Result<ChannelReply, OpError> {
    let AllowPersonRequest { channel, user, owner, remove } = request;
    let person = user.clone();
    let change = move |account: &mut toolcrib_channels::account::ChannelAccount| {
        if remove {
            account.disallow(&person);
            return Ok(());
        }
        account.allow(&person, owner)
    };
    let changed = ctx.toolcrib.channel_accounts().change(&channel, change).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let what = match (remove, owner) {
        (true, _) => "removed from",
        (false, true) => "owner on",
        (false, false) => "allowed on",
    };
    let about = format!("{} {what} {}", user.trim(), changed.id);
    record(&ctx.store, secrets, Act::new("channel.allow", about)).await?;
    Ok((&changed).into())
}
