//! Custom instructions: the person's own part of the system prompt, about the person and about how
//! models should answer.

mod error;
mod promotion;
mod texts;

pub use error::InstructionsError;
pub use promotion::{PromotionError, Undone, move_former_instructions, promote, undo_memory};
pub use texts::{CustomInstructions, InstructionsChange, InstructionsText, MAX_CHARS};
