//! SMS of a Toolcrib, on its stores.

use std::sync::Arc;

use toolcrib_assistant::AssistantTools;
use toolcrib_assistant::draft::Drafts;
use toolcrib_engine::Engine;
use toolcrib_sms::account::SmsPhones;
use toolcrib_sms::{Sms, SmsTools};

use super::Toolcrib;
use super::from_settings::http_client;
use crate::mail_vault::MailVault;
use crate::settings::{Settings, SetupError};
use crate::sms_vault::SmsVault;
use crate::stores::Stores;

/// Creates the phone for SMS with its inbox.
pub(super) fn sms(
    settings: &Settings,
    stores: &Stores,
    engine: &Engine,
) -> Result<Sms, SetupError> {
    let masked = engine.sealing().secrets.clone();
    let vault = SmsVault(MailVault { vault: settings.vault.clone(), masked });
    let file = settings.sms_phone.clone();
    let file = file.unwrap_or_else(|| settings.state.join("sms.toml"));
    let phones = SmsPhones::new(file, Arc::new(vault), http_client(settings)?);
    Ok(Sms::new(phones, &stores.assistant_rows))
}

/// Creates the tools for SMS.
pub(super) fn sms_tools(sms: Sms, drafts: &Drafts, assistant: &AssistantTools) -> SmsTools {
    SmsTools {
        sms,
        drafts: drafts.clone(),
        notifier: assistant.notifier.clone(),
        labels: Arc::clone(&assistant.labels),
    }
}

impl Toolcrib {
    /// Returns the phone for SMS with its inbox.
    #[must_use]
    pub fn sms(&self) -> &Sms {
        &self.sms.sms
    }
}
