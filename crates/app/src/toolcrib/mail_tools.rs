//! Mail and drafts of a Toolcrib, over its stores.

use std::sync::Arc;

use toolcrib_assistant::draft::{Carrier, Drafts};
use toolcrib_assistant::{AssistantTools, SecretCheck};
use toolcrib_engine::Engine;
use toolcrib_mail::account::{MailAccounts, PasswordVault};
use toolcrib_mail::{MailCarrier, MailTools, OwnMailer};

use super::Toolcrib;
use super::from_settings::http_client;
use crate::mail_vault::MailVault;
use crate::settings::{Settings, SetupError};
use crate::stores::Stores;

/// The tools for mail, with the drafts that they make.
pub(super) fn mail_tools(
    settings: &Settings,
    stores: &Stores,
    assistant: &AssistantTools,
    is_secret: SecretCheck,
    engine: &Engine,
) -> Result<MailTools, SetupError> {
    let masked = engine.sealing().secrets.clone();
    let vault: Arc<dyn PasswordVault> =
        Arc::new(MailVault { vault: settings.vault.clone(), masked });
    let file = settings.mail_accounts.clone();
    let file = file.unwrap_or_else(|| settings.state.join("mail.toml"));
    let accounts = MailAccounts::new(file, Arc::clone(&vault), http_client(settings)?);
    assistant.notifier.set_mail(Arc::new(OwnMailer(accounts.clone())));
    let carrier: Arc<dyn Carrier> =
        Arc::new(MailCarrier::new(accounts.clone(), Arc::clone(&stores.artifacts)));
    let drafts = Drafts::new(
        Arc::clone(&stores.assistant_rows),
        Arc::clone(&stores.calls),
        vec![carrier],
        is_secret,
    );
    drafts.set_rules(settings.send_rules.clone());
    Ok(MailTools {
        accounts,
        vault,
        drafts,
        artifacts: Arc::clone(&stores.artifacts),
        files: Arc::clone(&assistant.files),
        labels: Arc::clone(&assistant.labels),
    })
}

impl Toolcrib {
    /// The drafts of all owners.
    #[must_use]
    pub fn drafts(&self) -> &Drafts {
        &self.mail.drafts
    }

    /// The mail accounts of the owner.
    #[must_use]
    pub fn mail_accounts(&self) -> &MailAccounts {
        &self.mail.accounts
    }
}
