//! Operations on the person's own part of the system prompt.

mod change;
mod history;
mod show;

pub use change::{ChangeSoulRequest, change};
pub use history::{SoulChangeReply, SoulHistoryRequest, history};
pub use show::{ShowSoulRequest, SoulReply, show};
