//! Operations on conversations.

mod branch;
mod list;
mod messages;
mod remove;
mod rename;
mod restore;
mod row;
mod search;
mod show;

pub use branch::{BranchConversationRequest, branch};
pub use list::{ConversationsReply, ListConversationsRequest, list};
pub use messages::{MessagesReply, MessagesRequest, messages};
pub use remove::{RemoveConversationRequest, RemovedConversation, purge, remove};
pub use rename::{RenameConversationRequest, rename};
pub use restore::{
    ListDeletedConversationsRequest, RestoreConversationRequest, list_deleted, restore,
};
pub use row::{ConversationRow, MessageRow};
pub use search::{FoundMessage, SearchConversationsReply, SearchConversationsRequest, search};
pub use show::{ShowConversationRequest, show};
