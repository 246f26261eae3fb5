//! The authorization server of an account: pure.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::MailError;

/// The authorization server of an account, and the client that the person registered there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OauthSettings {
    /// Where a device asks for a code (RFC 8628, 3.1).
    pub device_url: String,
    /// Where codes and refresh tokens become tokens.
    pub token_url: String,
    /// Id of the client. A client of a device has no secret.
    pub client_id: String,
    /// What is asked for, with spaces between.
    pub scope: String,
}

impl OauthSettings {
    /// Microsoft: personal accounts, and those of organizations that allow it. From its page "Use
    /// OAuth to authenticate IMAP, POP or SMTP".
    #[must_use]
    pub fn microsoft(client_id: &str) -> Self {
        let base = "https://login.microsoftonline.com/common/oauth2/v2.0";
        Self {
            device_url: format!("{base}/devicecode"),
            token_url: format!("{base}/token"),
            client_id: client_id.to_owned(),
            scope: "offline_access https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send".to_owned(),
        }
    }

    /// Checks the addresses.
    ///
    /// # Errors
    /// [`MailError::BadAccount`] unless both use HTTPS and there is a client.
    pub fn check(&self) -> Result<(), MailError> {
        let is_https = |text: &String| {
            Url::parse(text).is_ok_and(|url| url.scheme() == "https" && url.has_host())
        };
        let is_line =
            |text: &String| !text.trim().is_empty() && !text.chars().any(char::is_control);
        if ![&self.device_url, &self.token_url].into_iter().all(is_https) {
            let why = "The addresses of an authorization server begin with https://.";
            return Err(MailError::BadAccount(why.to_owned()));
        }
        if !is_line(&self.client_id) || !is_line(&self.scope) {
            let why = "OAuth needs the id of a client and a scope, one line each.";
            return Err(MailError::BadAccount(why.to_owned()));
        }
        Ok(())
    }
}
