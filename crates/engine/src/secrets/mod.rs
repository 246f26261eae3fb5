//! Masks secrets in texts and streams, including encoded and split ones.
//!
//! Invariants
//! - The set of known secrets only grows: a value that was once a secret is masked for the lifetime
//!   of the process.
//! - A text without secrets costs one search for prefixes, and is not copied; if no secret is
//!   known, masking costs nothing.
//! - A stream is masked like the complete text, regardless of how it is split.
//!
//! Guessing secrets from the shape of a text is intentionally absent: it would mask ordinary text.
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
