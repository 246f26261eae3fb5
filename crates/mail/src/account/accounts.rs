//! Finding, testing, saving and removing accounts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_net::HttpClient;

use super::file;
use super::login::Login;
use super::model::{MailAccount, NewAccount};
use crate::error::MailError;
use crate::imap_pool::ImapPool;
use crate::{mailbox, submission};

/// Where passwords are.
pub trait PasswordVault: Send + Sync {
    /// The password of this name.
    ///
    /// # Errors
    /// Why the vault cannot be used.
    fn get(&self, name: &str) -> Result<Option<String>, String>;

    /// Keeps a password, which is masked in all output from now on.
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn set(&self, name: &str, password: &str) -> Result<(), String>;

    /// Removes a password, if it is there.
    ///
    /// # Errors
    /// Why the vault cannot be used.
    fn remove(&self, name: &str) -> Result<(), String>;

    /// Masks a password in all output of this process.
    fn mask(&self, password: &str);
}

/// The accounts of the owner. Clones share them.
#[derive(Clone)]
pub struct MailAccounts {
    path: PathBuf,
    vault: Arc<dyn PasswordVault>,
    client: HttpClient,
    pool: ImapPool,
}

impl fmt::Debug for MailAccounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailAccounts").field("path", &self.path).finish_non_exhaustive()
    }
}

impl MailAccounts {
    /// The accounts in this file, with passwords in this vault.
    #[must_use]
    pub fn new(path: PathBuf, vault: Arc<dyn PasswordVault>, client: HttpClient) -> Self {
        Self { path, vault, client, pool: ImapPool::default() }
    }

    /// All accounts.
    ///
    /// # Errors
    /// [`MailError::Unusable`].
    pub fn list(&self) -> Result<Vec<MailAccount>, MailError> {
        file::read(&self.path)
    }

    /// The account of this id or address; without one, the only account.
    ///
    /// # Errors
    /// [`MailError::NoAccount`], which names those that there are; [`MailError::WhichAccount`].
    pub fn find(&self, name: Option<&str>) -> Result<MailAccount, MailError> {
        let all = self.list()?;
        let name = name.map(str::trim).filter(|name| !name.is_empty());
        let known = || match &all[..] {
            [] => "Ask the user to run `toolcrib mail add ADDRESS`, or use setup_email.".to_owned(),
            all => {
                let each = |one: &MailAccount| format!("{} ({})", one.id, one.address);
                format!("There are: {}.", all.iter().map(each).collect::<Vec<_>>().join(", "))
            }
        };
        match (name, &all[..]) {
            (None, [only]) => Ok(only.clone()),
            (None, [_, _, ..]) => Err(MailError::WhichAccount(known())),
            (name, all) => {
                let name = name.unwrap_or_default();
                let is_it = |account: &&MailAccount| {
                    account.id.eq_ignore_ascii_case(name)
                        || account.address.eq_ignore_ascii_case(name)
                };
                let found = all.iter().find(is_it).cloned();
                let shown = name.chars().filter(|c| !c.is_control()).take(100).collect();
                found.ok_or_else(|| MailError::NoAccount { name: shown, known: known() })
            }
        }
    }

    /// Tests an account with its servers, then saves it with its password. Nothing is saved if one
    /// of the servers refuses it.
    ///
    /// # Errors
    /// [`MailError`].
    pub async fn add(&self, new: NewAccount, password: &str) -> Result<MailAccount, MailError> {
        // Masked before anything else is done with it: a server may repeat it.
        self.vault.mask(password);
        let account = new.complete()?;
        self.test_with(&account, password).await?;
        let (path, vault, saved) = (self.path.clone(), Arc::clone(&self.vault), account.clone());
        let password = password.to_owned();
        let save = move || {
            file::update(&path, |all| {
                vault.set(&saved.secret_name(), &password).map_err(MailError::Unusable)?;
                let is_other =
                    |one: &MailAccount| one.id != saved.id && one.address != saved.address;
                all.retain(is_other);
                all.push(saved);
                Ok(())
            })
        };
        blocking(save).await?;
        Ok(account)
    }

    /// Tests an account with its servers: the login at both.
    ///
    /// # Errors
    /// [`MailError`].
    pub async fn test(&self, name: Option<&str>) -> Result<MailAccount, MailError> {
        let login = self.login(self.find(name)?)?;
        self.test_with(&login.account, &login.password).await?;
        Ok(login.account)
    }

    /// Removes an account and its password.
    ///
    /// # Errors
    /// [`MailError::NoAccount`], [`MailError::Unusable`].
    pub async fn remove(&self, name: &str) -> Result<MailAccount, MailError> {
        let account = self.find(Some(name))?;
        let (path, vault, gone) = (self.path.clone(), Arc::clone(&self.vault), account.clone());
        blocking(move || {
            file::update(&path, |all| {
                all.retain(|one| one.id != gone.id);
                vault.remove(&gone.secret_name()).map_err(MailError::Unusable)
            })
        })
        .await?;
        Ok(account)
    }

    pub(crate) fn login(&self, account: MailAccount) -> Result<Login, MailError> {
        let password = self.vault.get(&account.secret_name()).map_err(MailError::Unusable)?;
        let password = password.ok_or_else(|| MailError::NoPassword(account.address.clone()))?;
        let client = self.client_for(&account);
        Ok(Login { account, password, client, pool: self.pool.clone() })
    }

    async fn test_with(&self, account: &MailAccount, password: &str) -> Result<(), MailError> {
        let (account, client) = (account.clone(), self.client_for(account));
        let (password, pool) = (password.to_owned(), self.pool.clone());
        let login = Login { account, password, client, pool };
        mailbox::test(&login).await?;
        submission::test(&login).await
    }

    /// A client that reaches servers in a private network if the person says that they are there.
    fn client_for(&self, account: &MailAccount) -> HttpClient {
        if !account.own_network {
            return self.client.clone();
        }
        [&account.imap, &account.smtp].into_iter().fold(self.client.clone(), |client, server| {
            match server.to_string().parse() {
                Ok(entry) => client.with_opened(entry),
                Err(_) => client,
            }
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MailError> + Send + 'static,
) -> Result<T, MailError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(MailError::Unusable(error.to_string())))
}
