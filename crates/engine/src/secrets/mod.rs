//! Masks secrets wherever a text or a stream holds them, also encoded or split.
//!
//! Invariants
//! - The set of known secrets only grows: a value that was a secret once is masked as long as the
//!   process lives.
//! - A text without secrets costs one search for beginnings, and is not copied; where no secret is
//!   known, nothing at all.
//! - A stream is masked as its whole would be, however it is cut.
//!
//! Guesses from the shape of a text are absent on purpose: they are no known secrets, and would be
//! wrong in honest texts.
#![deny(clippy::indexing_slicing)]

mod encoded_forms;
mod escaping;
mod known_secrets;
mod mask_json;
mod scanner;
mod sealing;
mod stream_mask;
#[cfg(test)]
mod tests;

pub use known_secrets::Secrets;
pub(crate) use mask_json::{keeps_mask, restore};
pub use sealing::Sealing;
pub use stream_mask::{StreamMask, TextMask};
