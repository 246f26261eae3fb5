//! Operations on conversations.

mod list;
mod messages;
mod show;

pub use list::{ConversationsReply, ListConversationsRequest, list};
pub use messages::{MessagesReply, MessagesRequest, messages};
pub use show::{ShowConversationRequest, show};
