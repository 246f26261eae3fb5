//! A conversation and its messages, as replies have them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{Conversation, DeletedConversation, StoredMessage};

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationRow {
    /// Its id.
    pub conversation: String,
    /// Its subject.
    pub title: String,
    /// The agent that answers in it.
    pub agent: String,
    /// Workspace folder.
    pub workspace: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970 of its newest message.
    pub updated_at: i64,
    /// Milliseconds since 1970 of its deletion, if it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<i64>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRow {
    /// Position in the conversation, from 0.
    pub seq: u64,
    /// The run that wrote it.
    pub run: Option<String>,
    /// The message: `role` is `user` or `model`; a model's has its `turn` and the `answers` of its
    /// calls.
    pub body: Value,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

impl From<&Conversation> for ConversationRow {
    fn from(conversation: &Conversation) -> Self {
        Self {
            conversation: conversation.id.to_string(),
            title: conversation.title.clone(),
            agent: conversation.agent.clone(),
            workspace: conversation.workspace.clone(),
            created_at: conversation.created_at,
            updated_at: conversation.updated_at,
            deleted_at: None,
        }
    }
}

impl From<&DeletedConversation> for ConversationRow {
    fn from(deleted: &DeletedConversation) -> Self {
        Self { deleted_at: Some(deleted.deleted_at), ..Self::from(&deleted.conversation) }
    }
}

impl From<&StoredMessage> for MessageRow {
    fn from(message: &StoredMessage) -> Self {
        Self {
            seq: message.seq,
            run: message.run.map(|run| run.to_string()),
            body: message.body.clone(),
            created_at: message.created_at,
        }
    }
}
