//! The person's own part of the system prompt ("soul"): how models should behave and answer.

mod error;
mod promotion;
mod souls;

pub use error::SoulError;
pub use promotion::{PromotionError, Undone, move_former_souls, promote, undo_memory};
pub use souls::{MAX_SOUL_CHARS, Soul, SoulChange, Souls};
