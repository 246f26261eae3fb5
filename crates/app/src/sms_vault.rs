//! The password of the phone for SMS in the vault, and the configuration values that make the tools
//! for SMS available.

use std::sync::Arc;

use toolcrib_engine::Secrets;
use toolcrib_mail::account::PasswordVault as _;
use toolcrib_net::HttpClient;
use toolcrib_sms::account::{PhonePasswords, SmsPhones};
use toolcrib_sms::{READ_KEY, SEND_KEY, specs};

use crate::mail_vault::MailVault;
use crate::settings::Settings;

/// The vault as the store of the password; it stores it as it stores passwords of mail accounts.
pub(crate) struct SmsVault(pub(crate) MailVault);

impl PhonePasswords for SmsVault {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        self.0.get(name)
    }

    fn set(&self, name: &str, password: &str) -> Result<(), String> {
        self.0.set(name, password)
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        self.0.remove(name)
    }

    fn mask(&self, password: &str) {
        self.0.mask(password);
    }
}

/// Sets the configuration values that say what the person has opted in to; without them, the
/// registry leaves the tools out.
pub(crate) fn set_opt_ins_of_tools(settings: &mut Settings) {
    let Some(path) = &settings.sms_phone else { return };
    let vault = SmsVault(MailVault { vault: None, masked: Secrets::default() });
    let client = HttpClient::new(toolcrib_net::AddressPolicy::default());
    // If the file cannot be read, nobody has opted in.
    let phone = SmsPhones::new(path.clone(), Arc::new(vault), client).get().ok().flatten();
    let (read, send) = phone.map_or((false, false), |phone| (phone.read, phone.send));
    for spec in specs() {
        let tool = settings.engine.tools.entry(spec.name.to_string());
        let config = &mut tool.or_default().config;
        for key in &spec.config {
            let is_on = (key.key == READ_KEY && read) || (key.key == SEND_KEY && send);
            let value = if is_on { "on" } else { "" };
            config.insert(key.key.clone(), value.to_owned());
        }
    }
}
