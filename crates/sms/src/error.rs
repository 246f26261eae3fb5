//! Errors of the phone and of the connections to it.

use toolcrib_assistant::RowError;
use toolcrib_core::{ErrorType, ToolError};

/// Maximum characters of the app's own words.
const APP_TEXT: usize = 300;

/// Why an operation failed. The texts are for models and people, and contain no password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SmsError {
    /// No phone is configured.
    #[error("There is no phone for SMS. `toolcrib sms add http://ADDRESS:8080` adds one.")]
    NoPhone,
    /// A phone that cannot be used as it is written.
    #[error("{0}")]
    BadPhone(String),
    /// The vault has no password.
    #[error("The vault has no password of the phone. Remove the phone and add it again.")]
    NoPassword,
    /// The file of the configuration or the vault cannot be used.
    #[error("The phone cannot be read or written: {0}")]
    Unusable(String),
    /// The person has not opted in.
    #[error("{0}")]
    Off(&'static str),
    /// The phone cannot be reached.
    #[error(
        "The phone at {host} cannot be reached: {reason}. Check that it is on, in the same network, and that the app says Online."
    )]
    Unreachable {
        /// Host.
        host: String,
        /// Why.
        reason: String,
        /// Whether nothing of the request was sent.
        unsent: bool,
    },
    /// The app refuses the user name or the password.
    #[error(
        "The app at {0} refuses the user name or the password. The page Home of the app shows both, under Local Server."
    )]
    Login(String),
    /// The app says no.
    #[error("The app at {host} refuses with {status}: {reason}")]
    Refused {
        /// Host.
        host: String,
        /// HTTP status.
        status: u16,
        /// Its words.
        reason: String,
    },
    /// The app has no inbox to read.
    #[error(
        "The app at {0} does not offer the SMS that arrived (GET /inbox). Update the app on the phone."
    )]
    NoInbox(String),
    /// The app answers something that cannot be understood, or too much.
    #[error("The app at {host} gives an answer that cannot be used: {reason}")]
    Answer {
        /// Host.
        host: String,
        /// The problem.
        reason: String,
    },
    /// An argument that cannot be used.
    #[error("{0}")]
    Argument(String),
    /// No stored SMS has this number.
    #[error("There is no SMS with the id {0}. check_sms and search_sms show those that there are.")]
    NoSms(u64),
    /// The store failed.
    #[error(transparent)]
    Row(#[from] RowError),
}

/// Returns the words of the app, as far as they fit one line.
pub(crate) fn app_words(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).take(APP_TEXT).collect()
}

impl From<SmsError> for ToolError {
    fn from(error: SmsError) -> Self {
        let text = error.to_string();
        match error {
            SmsError::NoPhone | SmsError::NoPassword | SmsError::Off(_) => {
                Self::new(ErrorType::NotConfigured, text)
            }
            SmsError::BadPhone(_) | SmsError::Argument(_) | SmsError::NoSms(_) => {
                Self::validation(text)
            }
            SmsError::Unreachable { .. } => Self::new(ErrorType::NetworkError, text),
            SmsError::Row(error) => {
                Self::execution("The SMS cannot be read or written now. Try again later.")
                    .with_detail(error.to_string())
            }
            _ => Self::execution(text),
        }
    }
}
