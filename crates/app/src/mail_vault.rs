//! Passwords of mail accounts and keys of apps in the vault, and the configuration value that makes
//! the mail tools available.

use toolcrib_devices::KeyVault;
use toolcrib_engine::Secrets;
use toolcrib_mail::account::{MailAccounts, PasswordVault};
use toolcrib_mail::{ACCOUNT_KEY, specs};
use toolcrib_net::HttpClient;
use toolcrib_store::vault::{Secret, SecretName, Vault};

use crate::settings::Settings;

/// The vault as the store of passwords and keys.
pub(crate) struct MailVault {
    pub(crate) vault: Option<Vault>,
    pub(crate) masked: Secrets,
}

impl MailVault {
    fn vault(&self) -> Result<&Vault, String> {
        self.vault.as_ref().ok_or_else(|| "there is no vault".to_owned())
    }
}

impl PasswordVault for MailVault {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        let name: SecretName = name.parse().map_err(|error| format!("{error}"))?;
        let found = self.vault()?.read().map_err(|error| error.to_string())?.remove(&name);
        let found = found.map(|secret| secret.expose().to_owned());
        if let Some(password) = &found {
            PasswordVault::mask(self, password);
        }
        Ok(found)
    }

    fn set(&self, name: &str, password: &str) -> Result<(), String> {
        let name: SecretName = name.parse().map_err(|error| format!("{error}"))?;
        let secret = Secret::new(password).map_err(|error| error.to_string())?;
        let now = toolcrib_core::Clock::now_ms(&toolcrib_core::SystemClock);
        self.vault()?.set(&name, &secret, now).map(drop).map_err(|error| error.to_string())
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        let name: SecretName = name.parse().map_err(|error| format!("{error}"))?;
        self.vault()?.remove(&name).map(drop).map_err(|error| error.to_string())
    }

    fn mask(&self, password: &str) {
        self.masked.add([password]);
    }
}

impl KeyVault for MailVault {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        PasswordVault::get(self, name)
    }

    fn set(&self, name: &str, value: &str) -> Result<(), String> {
        PasswordVault::set(self, name, value)
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        PasswordVault::remove(self, name)
    }

    fn mask(&self, value: &str) {
        PasswordVault::mask(self, value);
    }
}

/// Sets the configuration value that lists the mail accounts for the tools that need one; without
/// it, the registry leaves them out.
pub(crate) fn say_that_there_is_an_account(settings: &mut Settings) {
    let Some(path) = &settings.mail_accounts else { return };
    let vault = MailVault { vault: None, masked: Secrets::default() };
    let client = HttpClient::new(toolcrib_net::AddressPolicy::default());
    // If the file cannot be read, the tools stay available and report the error.
    let accounts = MailAccounts::new(path.clone(), std::sync::Arc::new(vault), client);
    let value = match accounts.list() {
        Ok(all) => all.into_iter().map(|account| account.address).collect::<Vec<_>>().join(", "),
        Err(_) => "unreadable".to_owned(),
    };
    for spec in specs().iter().filter(|spec| !spec.config.is_empty()) {
        let tool = settings.engine.tools.entry(spec.name.to_string());
        let config = &mut tool.or_default().config;
        config.insert(ACCOUNT_KEY.to_owned(), value.clone());
    }
}
