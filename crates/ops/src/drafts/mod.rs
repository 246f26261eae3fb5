//! Operations on drafts: what is to leave in a person's name.

mod change;
mod list;
mod row;
mod send;

pub use change::{DiscardDraftRequest, EditDraftRequest, discard, edit};
pub use list::{ListDraftsRequest, ShowDraftRequest, list, show};
pub use row::{DraftFile, DraftReply};
pub use send::{SendDraftRequest, send};
