//! The person's own part of the system prompt ("soul"): how models should be and answer.

mod error;
mod souls;

pub use error::SoulError;
pub use souls::{MAX_SOUL_CHARS, Soul, SoulChange, Souls};
