//! A channel in replies, and the errors of channels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_channels::ChannelError;
use toolcrib_channels::account::ChannelAccount;

use crate::error::OpError;

/// A chat channel, without its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Channel")]
pub struct ChannelReply {
    /// Its name.
    pub channel: String,
    /// The service: `telegram` or `matrix`.
    pub kind: String,
    /// Its own name at the service.
    pub identity: String,
    /// Address of the service.
    pub base_url: String,
    /// Whether it receives and answers.
    pub enabled: bool,
    /// Whether the people on its list may decide approvals of their own conversation.
    pub may_approve: bool,
    /// The agent that answers; absent = the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Number of people on its list.
    pub people: usize,
}

impl From<&ChannelAccount> for ChannelReply {
    fn from(account: &ChannelAccount) -> Self {
        Self {
            channel: account.id.clone(),
            kind: account.kind.to_string(),
            identity: account.identity.clone(),
            base_url: account.base_url.clone(),
            enabled: account.enabled,
            may_approve: account.may_approve,
            agent: account.agent.clone(),
            people: account.allow.len(),
        }
    }
}

impl From<ChannelError> for OpError {
    fn from(error: ChannelError) -> Self {
        let text = error.to_string();
        match error {
            ChannelError::NoAccount { .. } => Self::Absent(text),
            ChannelError::BadAccount(_) => Self::Invalid(text),
            ChannelError::NoToken(_) | ChannelError::Unusable(_) => Self::Unusable(text),
            ChannelError::Token { .. } => Self::Denied(text),
            ChannelError::Conflict { .. } => Self::Conflict(text),
            ChannelError::Unreachable { .. }
            | ChannelError::Wait { .. }
            | ChannelError::Blocked { .. }
            | ChannelError::Refused { .. }
            | ChannelError::Answer { .. } => Self::Unavailable(text),
        }
    }
}
