//! Chat channels of a Toolcrib, on its stores.

use std::sync::Arc;

use toolcrib_assistant::AssistantTools;
use toolcrib_assistant::chat_channel::ChatChannels;
use toolcrib_assistant::draft::Drafts;
use toolcrib_channels::ChannelTools;
use toolcrib_channels::account::ChannelAccounts;
use toolcrib_engine::Engine;

use super::Toolcrib;
use super::from_settings::http_client;
use crate::channel_vault::ChannelVault;
use crate::mail_vault::MailVault;
use crate::settings::{Settings, SetupError};

/// Creates the accounts of chat channels.
pub(super) fn channel_accounts(
    settings: &Settings,
    engine: &Engine,
) -> Result<ChannelAccounts, SetupError> {
    let masked = engine.sealing().secrets.clone();
    let vault = ChannelVault(MailVault { vault: settings.vault.clone(), masked });
    let file = settings.channel_accounts.clone();
    let file = file.unwrap_or_else(|| settings.state.join("channels.toml"));
    Ok(ChannelAccounts::new(file, Arc::new(vault), http_client(settings)?))
}

/// Creates the tools for chat messages.
pub(super) fn channel_tools(
    accounts: ChannelAccounts,
    drafts: &Drafts,
    assistant: &AssistantTools,
) -> ChannelTools {
    ChannelTools {
        accounts,
        drafts: drafts.clone(),
        notifier: assistant.notifier.clone(),
        labels: Arc::clone(&assistant.labels),
    }
}

impl Toolcrib {
    /// Returns the accounts of chat channels of the owner.
    #[must_use]
    pub fn channel_accounts(&self) -> &ChannelAccounts {
        &self.channels.accounts
    }

    /// Returns the stored state of chat channels.
    #[must_use]
    pub fn chat_channels(&self) -> ChatChannels {
        ChatChannels::new(Arc::clone(&self.stores().assistant_rows))
    }
}
