//! Finding, testing, saving and removing accounts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_net::HttpClient;

use super::file;
use super::login::{Login, LoginSecret};
use super::model::{MailAccount, NewAccount};
use crate::error::MailError;
use crate::imap_pool::ImapPool;
use crate::oauth::{self, DeviceCode, OauthSettings, Tokens};
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
    renewing: Arc<tokio::sync::Mutex<()>>,
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
        Self { path, vault, client, pool: ImapPool::default(), renewing: Arc::default() }
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
        self.test_with(&account, LoginSecret::Password(password.to_owned())).await?;
        self.save(account, password.to_owned()).await
    }

    /// Lets the person agree in a browser, tests the account with its servers, then saves it with
    /// its tokens. `show` is called once, with what the person needs. Nothing is saved if one of
    /// the servers refuses.
    ///
    /// # Errors
    /// [`MailError`].
    pub async fn add_oauth(
        &self,
        new: NewAccount,
        settings: OauthSettings,
        show: impl FnOnce(&DeviceCode) + Send,
    ) -> Result<MailAccount, MailError> {
        let account = MailAccount { oauth: Some(settings.clone()), ..new.complete()? };
        let tokens = oauth::agree(&self.client, &settings, show).await?;
        let tokens = self.kept(&account, tokens).await?;
        self.test_with(&account, LoginSecret::Token(tokens.access.clone())).await?;
        self.save(account, written(&tokens)?).await
    }

    async fn save(&self, account: MailAccount, secret: String) -> Result<MailAccount, MailError> {
        let (path, vault, saved) = (self.path.clone(), Arc::clone(&self.vault), account.clone());
        let save = move || {
            file::update(&path, |all| {
                vault.set(&saved.secret_name(), &secret).map_err(MailError::Unusable)?;
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
        let login = self.login(self.find(name)?).await?;
        self.test_with(&login.account, login.secret).await?;
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

    /// An account with its password, or with an access token that is good for a while.
    pub(crate) async fn login(&self, account: MailAccount) -> Result<Login, MailError> {
        let client = self.client_for(&account);
        let pool = self.pool.clone();
        if account.oauth.is_some() {
            // One at a time: many servers take a refresh token once.
            let _one = self.renewing.lock().await;
            let tokens = serde_json::from_str(&self.secret_of(&account)?);
            let tokens: Tokens =
                tokens.map_err(|_| MailError::NoPassword(account.address.clone()))?;
            let fresh = self.kept(&account, tokens.clone()).await?;
            if fresh != tokens {
                let (vault, name, text) =
                    (Arc::clone(&self.vault), account.secret_name(), written(&fresh)?);
                blocking(move || vault.set(&name, &text).map_err(MailError::Unusable)).await?;
            }
            return Ok(Login { account, secret: LoginSecret::Token(fresh.access), client, pool });
        }
        let secret = LoginSecret::Password(self.secret_of(&account)?);
        Ok(Login { account, secret, client, pool })
    }

    /// The tokens, renewed if they end soon, and masked.
    async fn kept(&self, account: &MailAccount, tokens: Tokens) -> Result<Tokens, MailError> {
        let mask = |tokens: &Tokens| {
            self.vault.mask(&tokens.access);
            self.vault.mask(&tokens.refresh);
        };
        mask(&tokens);
        let Some(settings) = &account.oauth else { return Ok(tokens) };
        match oauth::renewed(&self.client, settings, &tokens, &account.address).await? {
            Some(fresh) => {
                mask(&fresh);
                Ok(fresh)
            }
            None => Ok(tokens),
        }
    }

    fn secret_of(&self, account: &MailAccount) -> Result<String, MailError> {
        let secret = self.vault.get(&account.secret_name()).map_err(MailError::Unusable)?;
        secret.ok_or_else(|| MailError::NoPassword(account.address.clone()))
    }

    async fn test_with(&self, account: &MailAccount, secret: LoginSecret) -> Result<(), MailError> {
        let (account, client) = (account.clone(), self.client_for(account));
        let login = Login { account, secret, client, pool: self.pool.clone() };
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

/// The tokens as the vault has them.
fn written(tokens: &Tokens) -> Result<String, MailError> {
    serde_json::to_string(tokens).map_err(|error| MailError::Unusable(error.to_string()))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MailError> + Send + 'static,
) -> Result<T, MailError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(MailError::Unusable(error.to_string())))
}
