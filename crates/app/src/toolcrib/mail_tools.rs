//! Mail and drafts of a Toolcrib, on its stores.

use std::sync::Arc;

use toolcrib_assistant::draft::{Carrier, Drafts, WebhookCarrier};
use toolcrib_assistant::mail_inbox::MailInboxes;
use toolcrib_assistant::{AssistantTools, SecretCheck};
use toolcrib_engine::Engine;
use toolcrib_mail::account::{MailAccounts, PasswordVault};
use toolcrib_mail::{MailCarrier, MailTools, OwnMailer};

use super::Toolcrib;
use super::from_settings::http_client;
use crate::mail_vault::MailVault;
use crate::settings::{Settings, SetupError};
use crate::stores::Stores;

/// Creates the tools for mail, and the drafts that they create. `others` send drafts of other
/// kinds.
pub(super) fn mail_tools(
    settings: &Settings,
    stores: &Stores,
    assistant: &AssistantTools,
    (is_secret, others): (SecretCheck, Vec<Arc<dyn Carrier>>),
    engine: &Engine,
) -> Result<MailTools, SetupError> {
    let masked = engine.sealing().secrets.clone();
    let vault: Arc<dyn PasswordVault> =
        Arc::new(MailVault { vault: settings.vault.clone(), masked });
    let file = settings.mail_accounts.clone();
    let file = file.unwrap_or_else(|| settings.state.join("mail.toml"));
    let client = http_client(settings)?;
    let accounts = MailAccounts::new(file, Arc::clone(&vault), client.clone());
    assistant.notifier.set_mail(Arc::new(OwnMailer(accounts.clone())));
    let mut carriers: Vec<Arc<dyn Carrier>> = vec![
        Arc::new(MailCarrier::new(accounts.clone(), Arc::clone(&stores.artifacts))),
        Arc::new(WebhookCarrier::new(client.clone())),
    ];
    carriers.extend(others);
    let drafts = Drafts::new(
        Arc::clone(&stores.assistant_rows),
        Arc::clone(&stores.calls),
        carriers,
        is_secret,
    );
    drafts.set_rules(settings.send_rules.clone());
    Ok(MailTools {
        accounts,
        vault,
        client,
        drafts,
        notifier: assistant.notifier.clone(),
        artifacts: Arc::clone(&stores.artifacts),
        files: Arc::clone(&assistant.files),
        labels: Arc::clone(&assistant.labels),
    })
}

impl Toolcrib {
    /// Returns the drafts of all owners.
    #[must_use]
    pub fn drafts(&self) -> &Drafts {
        &self.mail.drafts
    }

    /// Returns the stored state of the inboxes of mail accounts.
    #[must_use]
    pub fn mail_inboxes(&self) -> MailInboxes {
        MailInboxes::new(Arc::clone(&self.stores().assistant_rows))
    }

    /// Returns the mail accounts of the owner.
    #[must_use]
    pub fn mail_accounts(&self) -> &MailAccounts {
        &self.mail.accounts
    }
}
