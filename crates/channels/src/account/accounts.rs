//! Finding, testing, saving, changing and removing accounts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_net::HttpClient;

use super::file;
use super::model::{ChannelAccount, NewChannel};
use crate::channel::{Channel, ChannelKind};
use crate::error::ChannelError;
use crate::matrix::Matrix;
use crate::telegram::Telegram;

/// Where tokens are.
pub trait TokenVault: Send + Sync {
    /// Returns the token of this name.
    ///
    /// # Errors
    /// Why the vault cannot be used.
    fn get(&self, name: &str) -> Result<Option<String>, String>;

    /// Stores a token, which is masked in all output from now on.
    ///
    /// # Errors
    /// Why it cannot be stored.
    fn set(&self, name: &str, token: &str) -> Result<(), String>;

    /// Removes a token, if it is there.
    ///
    /// # Errors
    /// Why the vault cannot be used.
    fn remove(&self, name: &str) -> Result<(), String>;

    /// Masks a token in all output of this process.
    fn mask(&self, token: &str);
}

/// The accounts of the owner. Clones share them.
#[derive(Clone)]
pub struct ChannelAccounts {
    path: PathBuf,
    vault: Arc<dyn TokenVault>,
    client: HttpClient,
}

impl fmt::Debug for ChannelAccounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelAccounts").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ChannelAccounts {
    /// Creates the accounts in this file, with tokens in this vault.
    #[must_use]
    pub fn new(path: PathBuf, vault: Arc<dyn TokenVault>, client: HttpClient) -> Self {
        Self { path, vault, client }
    }

    /// Returns all accounts.
    ///
    /// # Errors
    /// [`ChannelError::Unusable`].
    pub fn list(&self) -> Result<Vec<ChannelAccount>, ChannelError> {
        file::read(&self.path)
    }

    /// Returns the account of this name.
    ///
    /// # Errors
    /// [`ChannelError::NoAccount`], which names the existing ones.
    pub fn find(&self, name: &str) -> Result<ChannelAccount, ChannelError> {
        let all = self.list()?;
        let found = all.iter().find(|one| one.id.eq_ignore_ascii_case(name.trim()));
        found.cloned().ok_or_else(|| no_account(name, &all))
    }

    /// Tests an account with its service, then saves it with its token. Nothing is saved if the
    /// service refuses the token.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub async fn add(&self, new: NewChannel, token: &str) -> Result<ChannelAccount, ChannelError> {
        let token = token.trim();
        // Masked before anything else is done with it: a service may repeat it.
        self.vault.mask(token);
        let mut account = new.complete()?;
        let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | '?' | '#' | '%');
        if token.is_empty() || token.len() > 500 || !token.chars().all(is_plain) {
            let text = "That is not a token: it is one word of letters, digits and signs.";
            return Err(ChannelError::BadAccount(text.to_owned()));
        }
        account.identity = self.channel(&account, token).test().await?;
        let (path, vault) = (self.path.clone(), Arc::clone(&self.vault));
        let (saved, token) = (account.clone(), token.to_owned());
        let save = move || {
            file::update(&path, |all| {
                if all.iter().any(|one| one.id.eq_ignore_ascii_case(&saved.id)) {
                    return Err(ChannelError::BadAccount(format!(
                        "There is a channel \"{}\" already. Remove it first, or choose another name with --id.",
                        saved.id
                    )));
                }
                vault.set(&saved.secret_name(), &token).map_err(ChannelError::Unusable)?;
                all.push(saved);
                Ok(())
            })
        };
        blocking(save).await?;
        Ok(account)
    }

    /// Tests the token of an account with its service.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub async fn test(&self, name: &str) -> Result<ChannelAccount, ChannelError> {
        let account = self.find(name)?;
        let identity = self.open(&account)?.test().await?;
        Ok(ChannelAccount { identity, ..account })
    }

    /// Changes an account.
    ///
    /// # Errors
    /// [`ChannelError::NoAccount`], [`ChannelError::Unusable`], and the errors of `change`.
    pub async fn change(
        &self,
        name: &str,
        change: impl FnOnce(&mut ChannelAccount) -> Result<(), ChannelError> + Send + 'static,
    ) -> Result<ChannelAccount, ChannelError> {
        let (path, name) = (self.path.clone(), name.trim().to_owned());
        blocking(move || {
            file::update(&path, |all| {
                let at = all.iter().position(|one| one.id.eq_ignore_ascii_case(&name));
                let Some(found) = at.and_then(|at| all.get_mut(at)) else {
                    return Err(no_account(&name, all));
                };
                change(found)?;
                Ok(found.clone())
            })
        })
        .await
    }

    /// Removes an account and its token.
    ///
    /// # Errors
    /// [`ChannelError::NoAccount`], [`ChannelError::Unusable`].
    pub async fn remove(&self, name: &str) -> Result<ChannelAccount, ChannelError> {
        let account = self.find(name)?;
        let (path, vault, gone) = (self.path.clone(), Arc::clone(&self.vault), account.clone());
        blocking(move || {
            file::update(&path, |all| {
                all.retain(|one| one.id != gone.id);
                vault.remove(&gone.secret_name()).map_err(ChannelError::Unusable)
            })
        })
        .await?;
        Ok(account)
    }

    /// Returns the channel of an account, with its token.
    ///
    /// # Errors
    /// [`ChannelError::NoToken`], [`ChannelError::Unusable`].
    pub fn open(&self, account: &ChannelAccount) -> Result<Arc<dyn Channel>, ChannelError> {
        let token = self.vault.get(&account.secret_name()).map_err(ChannelError::Unusable)?;
        let token = token.ok_or_else(|| ChannelError::NoToken(account.id.clone()))?;
        Ok(self.channel(account, &token))
    }

    fn channel(&self, account: &ChannelAccount, token: &str) -> Arc<dyn Channel> {
        match account.kind {
            ChannelKind::Telegram => Arc::new(Telegram::new(&self.client, account, token)),
            ChannelKind::Matrix => Arc::new(Matrix::new(&self.client, account, token)),
        }
    }
}

fn no_account(name: &str, all: &[ChannelAccount]) -> ChannelError {
    let known = if all.is_empty() {
        "There are none; `toolcrib channel add telegram` adds one.".to_owned()
    } else {
        let names: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
        format!("There are: {}.", names.join(", "))
    };
    let name = name.chars().filter(|c| !c.is_control()).take(60).collect();
    ChannelError::NoAccount { name, known }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ChannelError> + Send + 'static,
) -> Result<T, ChannelError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ChannelError::Unusable(error.to_string())))
}
