//! Errors of operations on notifications.

use toolcrib_core::{ErrorType, StoreError, ToolError};

use super::notifier::{MAX_MESSAGE_CHARS, MAX_TITLE_CHARS};

/// Why an operation on notifications failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// No notification has this id.
    #[error("There is no notification {0}.")]
    Unknown(String),
    /// A text is missing or too long.
    #[error(
        "A notification needs a message of 1 to {MAX_MESSAGE_CHARS} characters, and its title has at most {MAX_TITLE_CHARS} characters on one line. Shorten it; details belong into your answer."
    )]
    BadText,
    /// The text contains a secret.
    #[error("The text contains a secret, so it was not sent. Write it without the secret.")]
    Secret,
    /// Models have sent too many notifications.
    #[error(
        "{max} notifications were sent in the last hour, which is the maximum. The next one can be sent in {minutes} min; put it into your answer instead."
    )]
    TooMany {
        /// The maximum.
        max: u32,
        /// Minutes until the next one can be sent.
        minutes: i64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<NotifyError> for ToolError {
    fn from(error: NotifyError) -> Self {
        match error {
            NotifyError::Store(error) => {
                Self::execution("The notification cannot be stored now. Try again later.")
                    .with_detail(error.to_string())
            }
            NotifyError::TooMany { .. } => Self::new(ErrorType::RateLimited, error.to_string()),
            error => Self::validation(error.to_string()),
        }
    }
}
