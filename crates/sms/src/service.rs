//! Adding, changing and removing the phone, with the two opt-ins, and reading it.

use std::sync::Arc;

use toolcrib_assistant::heartbeat::Arrivals;
use toolcrib_core::AssistantRowStore;

use crate::account::{NewPhone, SmsPhone, SmsPhones};
use crate::error::SmsError;
use crate::inbox::{InboxStatus, SmsInbox};
use crate::receive;

/// The owner of the phone.
pub(crate) const OWNER: &str = "";

/// The phone with its inbox. Clones share them.
#[derive(Clone)]
pub struct Sms {
    /// The phone.
    pub phones: SmsPhones,
    /// The SMS that arrived.
    pub(crate) inbox: SmsInbox,
    arrivals: Arrivals,
}

impl Sms {
    /// Creates the service for this phone, with its SMS in this store.
    #[must_use]
    pub fn new(phones: SmsPhones, store: &Arc<dyn AssistantRowStore>) -> Self {
        let inbox = SmsInbox::new(Arc::clone(store));
        Self { phones, inbox, arrivals: Arrivals::new(Arc::clone(store)) }
    }

    /// Tests a phone, then saves it with its password. Nothing is saved if the app refuses the
    /// password, or has no inbox although it is to be read.
    ///
    /// # Errors
    /// [`SmsError`].
    pub async fn add(&self, new: NewPhone, password: &str) -> Result<SmsPhone, SmsError> {
        let password = password.trim();
        let (phone, gateway) = self.phones.tested(new, password).await?;
        if phone.read {
            receive::begin(&gateway, &self.inbox, OWNER).await?;
        }
        self.phones.save(phone.clone(), password.to_owned()).await?;
        Ok(phone)
    }

    /// Tests the password, and the inbox if it may be read; returns the phone with the name that
    /// the app says now.
    ///
    /// # Errors
    /// [`SmsError`].
    pub async fn test(&self) -> Result<SmsPhone, SmsError> {
        let phone = self.phones.find()?;
        let gateway = self.phones.open(&phone)?;
        let name = gateway.phone_name().await?;
        if phone.read {
            gateway.inbox(None, 1, 0).await?;
        }
        Ok(SmsPhone { name, ..phone })
    }

    /// Changes the opt-ins; `None` keeps a value. When reading is switched on, what the phone has
    /// by then is not read.
    ///
    /// # Errors
    /// [`SmsError`].
    pub async fn set(&self, read: Option<bool>, send: Option<bool>) -> Result<SmsPhone, SmsError> {
        let phone = self.phones.find()?;
        if read == Some(true) && !phone.read {
            let gateway = self.phones.open(&phone)?;
            receive::begin(&gateway, &self.inbox, OWNER).await?;
        }
        self.phones.change(read, send).await
    }

    /// Removes the phone, its password and the stored SMS.
    ///
    /// # Errors
    /// [`SmsError`].
    pub async fn remove(&self) -> Result<SmsPhone, SmsError> {
        let phone = self.phones.remove().await?;
        self.inbox.forget(OWNER).await?;
        Ok(phone)
    }

    /// Returns the state of the inbox.
    ///
    /// # Errors
    /// [`SmsError::Row`].
    pub async fn status(&self) -> Result<InboxStatus, SmsError> {
        Ok(self.inbox.status(OWNER).await?)
    }

    /// Stores what is new on the phone; returns the number of new SMS. A problem is recorded.
    ///
    /// # Errors
    /// [`SmsError`].
    pub async fn receive(&self) -> Result<usize, SmsError> {
        let received = receive::receive(&self.phones, &self.inbox, &self.arrivals, OWNER).await;
        if let Err(error) = &received {
            self.inbox.record_problem(OWNER, &error.to_string()).await.ok();
        }
        received
    }
}
