//! Errors of writing the text.

use super::texts::MAX_CHARS;
use crate::rows::RowError;

/// Why an operation on the text failed. The texts are for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstructionsError {
    /// There is no text.
    #[error("the text is empty; clear it to go without one")]
    Empty,
    /// It is too long: it is part of every prompt.
    #[error("the text has {0} characters; at most {MAX_CHARS}")]
    TooLong(usize),
    /// It contains a secret.
    #[error(
        "the text contains a secret, and models would read it in every run; keep it with `toolcrib secret set NAME`"
    )]
    Secret,
    /// The rows cannot be read or written.
    #[error(transparent)]
    Row(#[from] RowError),
}
