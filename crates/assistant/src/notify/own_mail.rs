//! Mail as a channel: from an account of the person to its own address.

use std::time::Duration;

use toolcrib_core::{BoxFuture, Notification};

/// Longest time until a mail server has taken a notification.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

/// Sends notifications by mail.
pub trait OwnMail: Send + Sync {
    /// Sends a notification from an account to the address of that account, and to no other.
    /// `None` is the only account that there is.
    ///
    /// # Errors
    /// Why it was not taken, for people.
    fn send<'a>(
        &'a self,
        account: Option<&'a str>,
        notification: &'a Notification,
    ) -> BoxFuture<'a, Result<(), String>>;
}
