//! Changes the settings of a channel.

use super::row::ChannelReply;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;

/// Changes of a channel; `None` keeps a value.
#[derive(Debug, Clone, Default)]
pub struct SetChannelRequest {
    /// Name of the channel.
    pub channel: String,
    /// Whether it receives and answers.
    pub enabled: Option<bool>,
    /// Whether the people on its list may decide approvals of their own conversation.
    pub may_approve: Option<bool>,
    /// The agent that answers; an empty text selects the configured one.
    pub agent: Option<String>,
}

/// Changes the settings of a channel.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Unusable`], [`OpError::Unrecorded`].
pub async fn set(ctx: &OpContext<'_>, request: SetChannelRequest) -> Result<ChannelReply, OpError> {
    let SetChannelRequest { channel, enabled, may_approve, agent } = request;
    let change = move |account: &mut toolcrib_channels::account::ChannelAccount| {
        account.enabled = enabled.unwrap_or(account.enabled);
        account.may_approve = may_approve.unwrap_or(account.may_approve);
        if let Some(agent) = agent {
            account.agent = Some(agent.trim().to_owned()).filter(|agent| !agent.is_empty());
        }
        Ok(())
    };
    let changed = ctx.toolcrib.channel_accounts().change(&channel, change).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let about = format!(
        "{}: enabled {}, may_approve {}, agent {}",
        changed.id,
        changed.enabled,
        changed.may_approve,
        changed.agent.as_deref().unwrap_or("default")
    );
    record(&ctx.store, secrets, Act::new("channel.set", about)).await?;
    Ok((&changed).into())
}
