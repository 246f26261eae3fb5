//! Operations on the person's own part of the system prompt.

mod change;
mod history;
mod show;

pub use change::{ChangeInstructionsRequest, change};
pub use history::{InstructionsChangeReply, InstructionsHistoryRequest, history};
pub use show::{InstructionsReply, ShowInstructionsRequest, show};
