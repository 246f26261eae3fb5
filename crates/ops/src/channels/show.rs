//! Shows a channel with its people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::ChannelReply;
use crate::context::OpContext;
use crate::error::OpError;

/// A channel with its people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelDetails {
    /// The channel.
    #[serde(flatten)]
    pub channel: ChannelReply,
    /// People on its list.
    pub allowed: Vec<ChannelPerson>,
    /// People who wrote without being on the list.
    pub asked_to_talk: Vec<ChannelStranger>,
    /// When the service answered last, in milliseconds since 1970; 0 = never.
    pub read_at: i64,
    /// Why the service cannot be read now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A person on the list of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelPerson {
    /// Id at the service.
    pub user: String,
    /// Name, as the person chose it; empty until the person writes.
    pub name: String,
    /// Whether the person is the owner.
    pub owner: bool,
    /// The conversation; absent until the person writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Number of messages that wait for an answer.
    pub waiting: usize,
}

/// A person who wrote without being on the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelStranger {
    /// Id at the service.
    pub user: String,
    /// Name, as the person chose it.
    pub name: String,
    /// When the person wrote first, in milliseconds since 1970.
    pub at: i64,
}

/// Shows a channel.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Unusable`], [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, channel: &str) -> Result<ChannelDetails, OpError> {
    let account = ctx.toolcrib.channel_accounts().find(channel)?;
    let channels = ctx.toolcrib.chat_channels();
    let state = channels.get(ctx.store.owner, &account.state_key()).await?;
    let person = |user: &String| {
        let known = state.people.get(user);
        let has_turn = known.is_some_and(|person| person.turn.is_some());
        ChannelPerson {
            user: user.clone(),
            name: known.map(|person| person.name.clone()).unwrap_or_default(),
            owner: account.owner.as_ref() == Some(user),
            conversation: known.and_then(|person| person.conversation).map(|id| id.to_string()),
            waiting: known.map_or(0, |person| person.waiting.len()) + usize::from(has_turn),
        }
    };
    let strangers = state.strangers.iter().filter(|one| !account.allows(&one.user));
    Ok(ChannelDetails {
        channel: (&account).into(),
        allowed: account.allow.iter().map(person).collect(),
        asked_to_talk: strangers
            .map(|one| ChannelStranger {
                user: one.user.clone(),
                name: one.name.clone(),
                at: one.at,
            })
            .collect(),
        read_at: state.read_at,
        problem: state.problem,
    })
}
