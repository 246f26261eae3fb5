//! Errors of mail servers and of the connections to them.

use toolcrib_core::{ErrorType, ToolError};
use toolcrib_net::HttpError;

/// Most characters of a server's own words.
const SERVER_TEXT: usize = 300;

/// Why an operation on an account failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// No account has this name.
    #[error("There is no mail account \"{name}\". {known}")]
    NoAccount {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Several accounts, and none was named.
    #[error("There are several mail accounts; pass account_id. {0}")]
    WhichAccount(String),
    /// An account that cannot be used as it is written.
    #[error("{0}")]
    BadAccount(String),
    /// The password is not there.
    #[error("The vault has no password for {0}. Ask the user to run `toolcrib mail add`.")]
    NoPassword(String),
    /// The file of accounts or the vault cannot be used.
    #[error("The mail accounts cannot be read or written: {0}")]
    Unusable(String),
    /// The server cannot be reached.
    #[error("{server} cannot be reached: {reason}")]
    Unreachable {
        /// Host and port.
        server: String,
        /// Why.
        reason: String,
    },
    /// It refuses the account.
    #[error("{server} refuses the user name or password: {reason}")]
    Login {
        /// Host and port.
        server: String,
        /// Its words.
        reason: String,
    },
    /// It says no.
    #[error("{server} refuses: {reason}")]
    Refused {
        /// Host and port.
        server: String,
        /// Its words.
        reason: String,
    },
    /// It answers something that cannot be understood, or too much.
    #[error("{server} gives an answer that cannot be used: {reason}")]
    Answer {
        /// Host and port.
        server: String,
        /// What is wrong.
        reason: String,
    },
    /// No mail has this number.
    #[error(
        "There is no mail with the uid {0} in the inbox. check_email and search_email show those that there are."
    )]
    NoMail(u32),
    /// An argument that cannot be used.
    #[error("{0}")]
    Argument(String),
}

impl MailError {
    /// Why a connection could not be opened.
    pub(crate) fn connecting(server: &str, error: &HttpError) -> Self {
        Self::Unreachable { server: server.to_owned(), reason: error.to_string() }
    }
}

/// The words of a server, as far as they fit one line.
pub(crate) fn server_words(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).take(SERVER_TEXT).collect()
}

impl From<MailError> for ToolError {
    fn from(error: MailError) -> Self {
        let text = error.to_string();
        match error {
            MailError::NoAccount { .. }
            | MailError::WhichAccount(_)
            | MailError::NoMail(_)
            | MailError::BadAccount(_)
            | MailError::Argument(_) => Self::validation(text),
            MailError::NoPassword(_) => Self::new(ErrorType::NotConfigured, text),
            MailError::Unreachable { .. } => Self::new(ErrorType::NetworkError, text),
            _ => Self::execution(text),
        }
    }
}
