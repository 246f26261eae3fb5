//! What one connection to the servers of an account needs.

use toolcrib_net::HttpClient;

use super::model::MailAccount;
use crate::imap_pool::ImapPool;

/// An account with its password, for one connection.
pub(crate) struct Login {
    pub(crate) account: MailAccount,
    pub(crate) password: String,
    pub(crate) client: HttpClient,
    pub(crate) pool: ImapPool,
}
