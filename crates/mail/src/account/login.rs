//! An account with its secret, for one connection to its servers.

use toolcrib_net::HttpClient;

use super::model::MailAccount;
use crate::imap_pool::ImapPool;

/// The secret that authenticates at the servers.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum LoginSecret {
    Password(String),
    /// An access token of OAuth.
    Token(String),
}

/// An account with its secret, for one connection.
pub(crate) struct Login {
    pub(crate) account: MailAccount,
    pub(crate) secret: LoginSecret,
    pub(crate) client: HttpClient,
    pub(crate) pool: ImapPool,
}
