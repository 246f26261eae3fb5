//! SASL XOAUTH2 for IMAP; the submission client has its own.

use async_imap::Authenticator;

/// Answers the challenges of a server.
pub(crate) struct Xoauth2 {
    answer: Option<String>,
}

impl Xoauth2 {
    pub(crate) fn new(user: &str, token: &str) -> Self {
        Self { answer: Some(format!("user={user}\x01auth=Bearer {token}\x01\x01")) }
    }
}

impl Authenticator for Xoauth2 {
    type Response = String;

    /// The token once; a second challenge is an error, which is answered with nothing so that the
    /// server ends the login.
    fn process(&mut self, _: &[u8]) -> String {
        self.answer.take().unwrap_or_default()
    }
}
