//! Errors of chat services and of the connections to them.

use std::time::Duration;

use toolcrib_core::{ErrorType, ToolError};

/// Maximum characters of a service's own words.
const SERVICE_TEXT: usize = 300;

/// Why an operation on an account failed. The texts are for models and people, and contain no
/// token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// No account has this name.
    #[error("There is no channel \"{name}\". {known}")]
    NoAccount {
        /// The requested name.
        name: String,
        /// The existing accounts.
        known: String,
    },
    /// An account that cannot be used as it is written.
    #[error("{0}")]
    BadAccount(String),
    /// The vault has no token.
    #[error("The vault has no token for {0}. Remove the channel and add it again.")]
    NoToken(String),
    /// The file of accounts or the vault cannot be used.
    #[error("The channels cannot be read or written: {0}")]
    Unusable(String),
    /// The service cannot be reached.
    #[error("{service} cannot be reached: {reason}")]
    Unreachable {
        /// Host.
        service: String,
        /// Why.
        reason: String,
        /// Whether nothing of the request was sent.
        unsent: bool,
    },
    /// The service refuses the token.
    #[error(
        "{service} refuses the token: {reason}. Check that it was copied whole and is not revoked."
    )]
    Token {
        /// Host.
        service: String,
        /// Its words.
        reason: String,
    },
    /// Another program receives the messages of this account.
    #[error(
        "{service} says that another program receives the messages of this account: {reason}. Stop that program, or remove its webhook."
    )]
    Conflict {
        /// Host.
        service: String,
        /// Its words.
        reason: String,
    },
    /// Too many requests.
    #[error("{service} asks to wait for {} s", .wait.as_secs())]
    Wait {
        /// Host.
        service: String,
        /// How long.
        wait: Duration,
    },
    /// The person cannot be written to: they blocked the account, or have never written to it.
    #[error("{service} does not deliver to this person: {reason}")]
    Blocked {
        /// Host.
        service: String,
        /// Its words.
        reason: String,
    },
    /// The service says no.
    #[error("{service} refuses with {status}: {reason}")]
    Refused {
        /// Host.
        service: String,
        /// HTTP status.
        status: u16,
        /// Its words.
        reason: String,
    },
    /// The service answers something that cannot be understood, or too much.
    #[error("{service} gives an answer that cannot be used: {reason}")]
    Answer {
        /// Host.
        service: String,
        /// The problem.
        reason: String,
    },
}

impl ChannelError {
    /// Returns whether the same request can succeed later without a change by a person.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Wait { .. } | Self::Answer { .. } => true,
            Self::Refused { status, .. } => *status >= 500,
            _ => false,
        }
    }
}

/// Returns the words of a service, as far as they fit one line.
pub(crate) fn service_words(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).take(SERVICE_TEXT).collect()
}

impl From<ChannelError> for ToolError {
    fn from(error: ChannelError) -> Self {
        let text = error.to_string();
        match error {
            ChannelError::NoAccount { .. } | ChannelError::BadAccount(_) => Self::validation(text),
            ChannelError::NoToken(_) => Self::new(ErrorType::NotConfigured, text),
            ChannelError::Unreachable { .. } => Self::new(ErrorType::NetworkError, text),
            _ => Self::execution(text),
        }
    }
}
