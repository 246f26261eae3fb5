//! Notifications by mail: from an account to its own address, and to no other.

use toolcrib_assistant::draft::Delivery;
use toolcrib_assistant::notify::OwnMail;
use toolcrib_core::{BoxFuture, Notification};

use crate::account::MailAccounts;
use crate::error::MailError;
use crate::message::compose_notification;
use crate::submission;

/// Sends notifications from these accounts.
pub struct OwnMailer(pub MailAccounts);

impl OwnMailer {
    async fn deliver(
        &self,
        account: Option<&str>,
        notification: &Notification,
    ) -> Result<Delivery, MailError> {
        let login = self.0.login(self.0.find(account)?).await?;
        let message = compose_notification(&login.account, notification)?;
        let own = [login.account.address.clone()];
        Ok(submission::send(&login, &own, &message).await)
    }
}

impl OwnMail for OwnMailer {
    fn send<'a>(
        &'a self,
        account: Option<&'a str>,
        notification: &'a Notification,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            match self.deliver(account, notification).await {
                Ok(Delivery::Sent(_)) => Ok(()),
                Ok(Delivery::Failed(why) | Delivery::Unknown(why)) => Err(why),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}
