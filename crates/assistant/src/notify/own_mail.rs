//! Mail as a channel: from an account of the person to its own address.

use std::time::Duration;

use toolcrib_core::{BoxFuture, Notification};

/// Time limit for a mail server to accept a notification.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

/// Sends notifications by mail.
pub trait OwnMail: Send + Sync {
    /// Sends a notification from an account to the address of that account only. `None` for the
    /// only configured account.
    ///
    /// # Errors
    /// Why it was not accepted, for people.
    fn send<'a>(
        &'a self,
        account: Option<&'a str>,
        notification: &'a Notification,
    ) -> BoxFuture<'a, Result<(), String>>;
}
