//! Tokens of chat channels in the vault, and the configuration value that makes the tools for
//! messages available.

use std::sync::Arc;

use toolcrib_channels::account::{ChannelAccounts, TokenVault};
use toolcrib_channels::{ACCOUNT_KEY, specs};
use toolcrib_engine::Secrets;
use toolcrib_mail::account::PasswordVault as _;
use toolcrib_net::HttpClient;

use crate::mail_vault::MailVault;
use crate::settings::Settings;

/// The vault as the store of tokens; it stores them as it stores passwords of mail accounts.
pub(crate) struct ChannelVault(pub(crate) MailVault);

impl TokenVault for ChannelVault {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        self.0.get(name)
    }

    fn set(&self, name: &str, token: &str) -> Result<(), String> {
        self.0.set(name, token)
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        self.0.remove(name)
    }

    fn mask(&self, token: &str) {
        self.0.mask(token);
    }
}

/// Sets the configuration value that lists the channels for the tools that need one; without it,
/// the registry leaves them out.
pub(crate) fn set_channels_of_tools(settings: &mut Settings) {
    let Some(path) = &settings.channel_accounts else { return };
    let vault = ChannelVault(MailVault { vault: None, masked: Secrets::default() });
    let client = HttpClient::new(toolcrib_net::AddressPolicy::default());
    let accounts = ChannelAccounts::new(path.clone(), Arc::new(vault), client);
    // If the file cannot be read, the tools stay available and report the error.
    let value = match accounts.list() {
        Ok(all) => all.into_iter().map(|account| account.id).collect::<Vec<_>>().join(", "),
        Err(_) => "unreadable".to_owned(),
    };
    for spec in specs().iter().filter(|spec| !spec.config.is_empty()) {
        let tool = settings.engine.tools.entry(spec.name.to_string());
        let config = &mut tool.or_default().config;
        config.insert(ACCOUNT_KEY.to_owned(), value.clone());
    }
}
