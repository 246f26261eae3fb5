//! Errors of operations on drafts.

use toolcrib_core::{StoreError, ToolError};

use super::kind::MAX_SMS_CHARS;
use super::limits::{MAX_BODY_CHARS, MAX_RECIPIENTS, MAX_SUBJECT_CHARS, MAX_WAITING};
use crate::rows::RowError;

/// Why an operation on drafts failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// No draft has this id.
    #[error("There is no draft \"{0}\".")]
    Unknown(String),
    /// The number of recipients is invalid.
    #[error("A draft has 1 to {MAX_RECIPIENTS} recipients.")]
    Recipients,
    /// A recipient is invalid.
    #[error("\"{0}\" is not a recipient. Pass one address for each, without line breaks.")]
    Recipient(String),
    /// The subject is invalid.
    #[error("A subject is one line of at most {MAX_SUBJECT_CHARS} characters.")]
    Subject,
    /// A Message-ID is invalid.
    #[error("A Message-ID is one word such as <abc@example.org>.")]
    MessageId,
    /// The text is invalid.
    #[error("A text has 1 to {MAX_BODY_CHARS} characters. Attach longer ones as a file.")]
    Body,
    /// Too many files.
    #[error("A draft has at most {0} files.")]
    Attachments(usize),
    /// It contains a secret.
    #[error("The text contains a known secret, so it is not kept. Leave the secret out.")]
    Secret,
    /// Too many drafts wait.
    #[error("{MAX_WAITING} drafts wait already. Ask the user to send or discard some.")]
    Full,
    /// The draft's state does not allow the action.
    #[error("{0}")]
    State(String),
    /// A model tries to change a draft that is not its own.
    #[error(
        "The draft \"{0}\" was written or changed by the user or another agent, so you cannot change it. Write another one, or tell the user what to change."
    )]
    NotOwn(String),
    /// The version is no longer stored.
    #[error("The draft has no version {0} any more. Look at it as it is now.")]
    NoVersion(i64),
    /// The address is invalid for a webhook.
    #[error(
        "A webhook has one address such as https://example.org/hook, without a user name, a password and spaces."
    )]
    WebAddress,
    /// The recipient is not a person at a chat service.
    #[error("A chat message has one recipient such as telegram:123456789, and no files.")]
    ChatRecipient,
    /// The recipient is not a phone number.
    #[error(
        "An SMS has one recipient, a number such as +491701234567 or 3 to 15 digits, and no files."
    )]
    SmsRecipient,
    /// The text is invalid for an SMS.
    #[error("An SMS has at most {MAX_SMS_CHARS} characters, without control characters.")]
    SmsText,
    /// The draft was changed since the caller read it.
    #[error("The draft \"{0}\" was changed since it was shown. Look at it again.")]
    Stale(String),
    /// The store failed.
    #[error(transparent)]
    Row(#[from] RowError),
}

impl From<StoreError> for DraftError {
    fn from(error: StoreError) -> Self {
        Self::Row(RowError::Store(error))
    }
}

impl From<DraftError> for ToolError {
    fn from(error: DraftError) -> Self {
        match error {
            DraftError::Row(RowError::Store(error)) => {
                Self::execution("The drafts cannot be read or written now. Try again later.")
                    .with_detail(error.to_string())
            }
            DraftError::Row(_) | DraftError::Full | DraftError::State(_) | DraftError::Stale(_) => {
                Self::execution(error.to_string())
            }
            error => Self::validation(error.to_string()),
        }
    }
}
