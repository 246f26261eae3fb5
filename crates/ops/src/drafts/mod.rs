//! Operations on drafts: messages to send in a person's name.

mod change;
mod create;
mod history;
mod list;
mod row;
mod send;

pub use change::{DiscardDraftRequest, EditDraftRequest, discard, edit};
pub use create::{CreateDraftRequest, create};
pub use history::{DraftHistoryRequest, DraftVersionReply, history};
pub use list::{ListDraftsRequest, ShowDraftRequest, list, show};
pub use row::{DraftDifferenceReply, DraftFile, DraftReply};
pub use send::{SendDraftRequest, send};
