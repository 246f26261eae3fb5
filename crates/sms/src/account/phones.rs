//! Finding, testing, saving, changing and removing the phone.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_net::HttpClient;

use super::file;
use super::model::{NewPhone, SECRET, SmsPhone, is_word};
use crate::error::SmsError;
use crate::gateway::Gateway;

/// Where the password is.
pub trait PhonePasswords: Send + Sync {
    /// Returns the password of this name.
    ///
    /// # Errors
    /// Why the vault cannot be used.
    fn get(&self, name: &str) -> Result<Option<String>, String>;

    /// Stores a password, which is masked in all output from now on.
    ///
    /// # Errors
    /// Why it cannot be stored.
    fn set(&self, name: &str, password: &str) -> Result<(), String>;

    /// Removes a password, if it is there.
    ///
    /// # Errors
    /// Why the vault cannot be used.
    fn remove(&self, name: &str) -> Result<(), String>;

    /// Masks a password in all output of this process.
    fn mask(&self, password: &str);
}

/// The phone of the owner. Clones share it.
#[derive(Clone)]
pub struct SmsPhones {
    path: PathBuf,
    vault: Arc<dyn PhonePasswords>,
    client: HttpClient,
}

impl fmt::Debug for SmsPhones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmsPhones").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SmsPhones {
    /// Creates the phone in this file, with its password in this vault.
    #[must_use]
    pub fn new(path: PathBuf, vault: Arc<dyn PhonePasswords>, client: HttpClient) -> Self {
        Self { path, vault, client }
    }

    /// Returns the phone, if there is one.
    ///
    /// # Errors
    /// [`SmsError::Unusable`].
    pub fn get(&self) -> Result<Option<SmsPhone>, SmsError> {
        file::read(&self.path)
    }

    /// Returns the phone.
    ///
    /// # Errors
    /// [`SmsError::NoPhone`], [`SmsError::Unusable`].
    pub fn find(&self) -> Result<SmsPhone, SmsError> {
        self.get()?.ok_or(SmsError::NoPhone)
    }

    /// Checks a phone and its password, and returns it with its name and the way to it. Nothing is
    /// saved.
    pub(crate) async fn tested(
        &self,
        new: NewPhone,
        password: &str,
    ) -> Result<(SmsPhone, Gateway), SmsError> {
        // Masked before anything else is done with it: the app may repeat it.
        self.vault.mask(password);
        let phone = new.complete()?;
        if !is_word(password) {
            let text = "That is not a password: it is one line of at most 200 bytes.";
            return Err(SmsError::BadPhone(text.to_owned()));
        }
        if self.get()?.is_some() {
            return Err(already());
        }
        let gateway = Gateway::new(&self.client, &phone, password);
        let name = gateway.phone_name().await?;
        Ok((SmsPhone { name, ..phone }, gateway))
    }

    /// Saves a phone that was tested.
    pub(crate) async fn save(&self, phone: SmsPhone, password: String) -> Result<(), SmsError> {
        let (path, vault) = (self.path.clone(), Arc::clone(&self.vault));
        blocking(move || {
            file::update(&path, |found| {
                if found.is_some() {
                    return Err(already());
                }
                vault.set(SECRET, &password).map_err(SmsError::Unusable)?;
                *found = Some(phone);
                Ok(())
            })
        })
        .await
    }

    /// Changes the opt-ins; `None` keeps a value.
    pub(crate) async fn change(
        &self,
        read: Option<bool>,
        send: Option<bool>,
    ) -> Result<SmsPhone, SmsError> {
        let path = self.path.clone();
        blocking(move || {
            file::update(&path, |found| {
                let phone = found.as_mut().ok_or(SmsError::NoPhone)?;
                phone.read = read.unwrap_or(phone.read);
                phone.send = send.unwrap_or(phone.send);
                Ok(phone.clone())
            })
        })
        .await
    }

    /// Removes the phone and its password.
    pub(crate) async fn remove(&self) -> Result<SmsPhone, SmsError> {
        let (path, vault) = (self.path.clone(), Arc::clone(&self.vault));
        blocking(move || {
            file::update(&path, |found| {
                let phone = found.take().ok_or(SmsError::NoPhone)?;
                vault.remove(SECRET).map_err(SmsError::Unusable)?;
                Ok(phone)
            })
        })
        .await
    }

    /// Returns the way to a phone, with its password.
    pub(crate) fn open(&self, phone: &SmsPhone) -> Result<Gateway, SmsError> {
        let password = self.vault.get(SECRET).map_err(SmsError::Unusable)?;
        let password = password.ok_or(SmsError::NoPassword)?;
        Ok(Gateway::new(&self.client, phone, &password))
    }
}

fn already() -> SmsError {
    SmsError::BadPhone(
        "There is a phone already. Remove it first: `toolcrib sms remove`.".to_owned(),
    )
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SmsError> + Send + 'static,
) -> Result<T, SmsError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(SmsError::Unusable(error.to_string())))
}
