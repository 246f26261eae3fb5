//! Shows the last events of a channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::OpContext;
use crate::error::OpError;

/// An event of a channel, without the texts of people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelLogLine {
    /// Milliseconds since 1970.
    pub at: i64,
    /// Id of the person; empty for the channel itself.
    pub user: String,
    /// What happened.
    pub event: String,
}

/// Returns the last 50 events of a channel, the newest first.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Unusable`], [`OpError::Store`].
pub async fn log(ctx: &OpContext<'_>, channel: &str) -> Result<Vec<ChannelLogLine>, OpError> {
    let account = ctx.toolcrib.channel_accounts().find(channel)?;
    let channels = ctx.toolcrib.chat_channels();
    let state = channels.get(ctx.store.owner, &account.state_key()).await?;
    let line = |line: toolcrib_assistant::chat_channel::LogLine| ChannelLogLine {
        at: line.at,
        user: line.user,
        event: line.event,
    };
    Ok(state.log.into_iter().rev().map(line).collect())
}
