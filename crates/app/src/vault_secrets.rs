//! Assigns secrets of the vault to the configuration of the tools that declare them.

use std::collections::{BTreeMap, HashMap};

use toolcrib_assistant::calendar::CalendarSettings;
use toolcrib_assistant::notify::{ChannelSecret, NotifySettings};
use toolcrib_builtins::web::{ApiKey, WebSettings};
use toolcrib_engine::ToolSettings;
use toolcrib_mcp::client::{ServerName, StoredCredentials};
use toolcrib_store::vault::{Secret, SecretName, VaultError};

use crate::settings::Settings;
use crate::{channel_vault, mail_vault, sms_vault};

/// Sets configuration values from the vault: the secret named for a key, or the one with the name
/// `TOOL.KEY`. A value that is already set stays. Returns all secrets of the vault, for masking.
pub(crate) fn inject_secrets(settings: &mut Settings) -> Result<Vec<String>, VaultError> {
    mail_vault::say_that_there_is_an_account(settings);
    channel_vault::set_channels_of_tools(settings);
    sms_vault::set_opt_ins_of_tools(settings);
    let Some(vault) = &settings.vault else { return Ok(Vec::new()) };
    let secrets = vault.read()?;
    for (tool, keys) in &settings.secret_config {
        for (key, name) in keys {
            if let Some(secret) =
                name.parse::<SecretName>().ok().and_then(|name| secrets.get(&name))
            {
                set_tool_secret(&mut settings.engine.tools, tool, key, secret);
            }
        }
    }
    for (name, secret) in &secrets {
        if let Some((tool, key)) = name.tool_and_key() {
            set_tool_secret(&mut settings.engine.tools, tool, key, secret);
        }
    }
    Ok(secrets_to_mask(&secrets))
}

/// Returns the settings of services with the secrets of the vault instead of their names. They are
/// a copy, because the settings themselves are compared with later ones, which contain the names.
pub(crate) fn service_settings(settings: &Settings) -> Result<WebSettings, VaultError> {
    let mut web = settings.web.clone();
    let Some(vault) = &settings.vault else { return Ok(web) };
    let mut secrets = None;
    for key in web.keys_mut() {
        let ApiKey::Secret(name) = key else { continue };
        let secrets = match &mut secrets {
            Some(secrets) => secrets,
            none => none.insert(vault.read()?),
        };
        if let Some(secret) = name.parse::<SecretName>().ok().and_then(|name| secrets.get(&name)) {
            *key = ApiKey::Value(secret.expose().to_owned());
        }
    }
    Ok(web)
}

/// Returns the settings of notifications with the secrets of the vault instead of their names, as
/// [`service_settings`].
pub(crate) fn notify_settings(settings: &Settings) -> Result<NotifySettings, VaultError> {
    let mut notify = settings.notifications.clone();
    for secret in notify.secrets_mut() {
        reveal(settings, secret)?;
    }
    Ok(notify)
}

/// Returns the owner's calendar with the password of the vault instead of its name, as
/// [`service_settings`].
pub(crate) fn calendar_settings(
    settings: &Settings,
) -> Result<Option<CalendarSettings>, VaultError> {
    let mut calendar = settings.calendar.clone();
    if let Some(calendar) = &mut calendar {
        reveal(settings, &mut calendar.password)?;
    }
    Ok(calendar)
}

/// Replaces the name of a secret by its value, if the vault contains it.
fn reveal(settings: &Settings, secret: &mut ChannelSecret) -> Result<(), VaultError> {
    let (Some(vault), ChannelSecret::Named(name)) = (&settings.vault, &*secret) else {
        return Ok(());
    };
    let Ok(name) = name.parse::<SecretName>() else { return Ok(()) };
    if let Some(found) = vault.read()?.remove(&name) {
        *secret = ChannelSecret::Value(found.expose().to_owned());
    }
    Ok(())
}

/// Returns the texts to mask for these secrets. The authorization for an MCP server is a document
/// with several secret values; an entry with such a name but other content is a secret of the user.
#[must_use]
pub fn secrets_to_mask(secrets: &BTreeMap<SecretName, Secret>) -> Vec<String> {
    let of = |(name, secret): (&SecretName, &Secret)| {
        let kept = name
            .as_str()
            .starts_with(OAUTH_PREFIX)
            .then(|| StoredCredentials::secret_values(secret.expose()));
        let several = kept.filter(|several| !several.is_empty());
        several.unwrap_or_else(|| vec![secret.expose().to_owned()])
    };
    secrets.iter().flat_map(of).collect()
}

/// Name prefix of secrets with authorizations for MCP servers.
const OAUTH_PREFIX: &str = "mcp-oauth-";

/// Returns the name of the secret with the authorization for an MCP server.
#[must_use]
pub fn oauth_secret_name(server: &ServerName) -> Option<SecretName> {
    format!("{OAUTH_PREFIX}{server}").parse().ok()
}

fn set_tool_secret(
    tools: &mut HashMap<String, ToolSettings>,
    tool: &str,
    key: &str,
    secret: &Secret,
) {
    let config = &mut tools.entry(tool.to_owned()).or_default().config;
    config.entry(key.to_owned()).or_insert_with(|| secret.expose().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_store::vault::Vault;

    #[test]
    fn a_secret_that_is_named_like_an_authorization_is_masked_too() {
        let secret = |name: &str, text: &str| {
            (name.parse::<SecretName>().unwrap(), Secret::new(text).ok().unwrap())
        };
        let all = [secret("mcp-oauth-own", "my own words"), secret("plain", "other words")];
        assert_eq!(secrets_to_mask(&all.into_iter().collect()), ["my own words", "other words"]);
    }

    #[test]
    fn tools_get_what_is_named_for_them_and_what_is_written_down_stays() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::in_folder(folder.path().join("vault"));
        let set = |name: &str, value: &str| {
            let value = Secret::new(value).ok().unwrap();
            vault.set(&name.parse().unwrap(), &value, 1).unwrap();
        };
        set("weather.KEY", "for the weather");
        set("weather.OLD", "not for the weather");
        set("shared", "for several tools");
        let mut settings = Settings::new(folder.path(), folder.path());
        assert_eq!(inject_secrets(&mut settings).unwrap(), Vec::<String>::new());
        settings.vault = Some(vault.clone());
        let written = [("OLD".to_owned(), "as written".to_owned())].into();
        let weather = ToolSettings { config: written, ..ToolSettings::default() };
        settings.engine.tools.insert("weather".to_owned(), weather);
        let named =
            [("TOKEN".to_owned(), "shared".to_owned()), ("GONE".to_owned(), "x".to_owned())];
        settings.secret_config.insert("mail".to_owned(), named.into());
        let mut all = inject_secrets(&mut settings).unwrap();
        all.sort();
        assert_eq!(all, ["for several tools", "for the weather", "not for the weather"]);
        let config = |tool: &str| {
            let mut config: Vec<_> = settings.engine.tools[tool].config.iter().collect();
            config.sort();
            config.into_iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>()
        };
        assert_eq!(config("weather"), ["KEY=for the weather", "OLD=as written"]);
        assert_eq!(config("mail"), ["TOKEN=for several tools"]);
        std::fs::write(vault.folder().join("secrets.key"), "damaged").unwrap();
        assert!(inject_secrets(&mut settings).is_err());
    }
}
