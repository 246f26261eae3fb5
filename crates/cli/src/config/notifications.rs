//! `[notifications]`: channels of notifications, and quiet hours.
#![deny(clippy::indexing_slicing)]

use serde::{Deserialize, Deserializer, de};
use toolcrib_assistant::notify::{
    ChannelSecret, DesktopProgram, MAX_PER_HOUR, MailSettings, NotifySettings, NtfySettings,
    QuietHours, WebhookSettings,
};
use toolcrib_store::vault::SecretName;

use crate::config::text_or_secret::TextOrSecret;

/// `[notifications]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotificationsSection {
    /// Whether the desktop of this machine shows them; by default, if there is one.
    desktop: Option<bool>,
    /// Daily period in which only alarms are delivered to channels.
    #[serde(deserialize_with = "quiet_hours")]
    quiet: Option<QuietHours>,
    /// Maximum number of notifications that models may send per hour.
    max_per_hour: Option<u32>,
    /// Mail to the person's own address.
    mail: MailSection,
    ntfy: ChannelSection,
    webhook: WebhookSection,
}

/// `[notifications.mail]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MailSection {
    enabled: bool,
    account: Option<String>,
}

/// `[notifications.ntfy]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ChannelSection {
    #[serde(deserialize_with = "topic")]
    url: Option<String>,
    token: Option<TextOrSecret>,
}

/// `[notifications.webhook]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WebhookSection {
    #[serde(deserialize_with = "address")]
    url: Option<String>,
    secret: Option<TextOrSecret>,
}

impl NotificationsSection {
    /// Returns the settings of the channels; `program` is the desktop's notification program.
    pub(super) fn settings(&self, program: Option<DesktopProgram>) -> NotifySettings {
        NotifySettings {
            desktop: program.filter(|_| self.desktop != Some(false)),
            ntfy: self
                .ntfy
                .url
                .clone()
                .map(|url| NtfySettings { url, token: self.ntfy.token.as_ref().map(secret) }),
            webhook: self.webhook.url.clone().map(|url| WebhookSettings {
                url,
                secret: self.webhook.secret.as_ref().map(secret),
            }),
            mail: self.mail.enabled.then(|| MailSettings { account: self.mail.account.clone() }),
            quiet: self.quiet,
            max_per_hour: self.max_per_hour.unwrap_or(MAX_PER_HOUR),
        }
    }

    /// Returns every secret with its channel.
    fn secrets(&self) -> impl Iterator<Item = (&'static str, &TextOrSecret)> {
        let secrets = [("ntfy", &self.ntfy.token), ("webhook", &self.webhook.secret)];
        secrets.into_iter().filter_map(|(name, secret)| Some((name, secret.as_ref()?)))
    }

    /// Returns the secrets that are written in the file.
    pub(super) fn literal_secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets().filter_map(|(_, secret)| match secret {
            TextOrSecret::Literal(text) => Some(text.0.as_str()),
            TextOrSecret::Secret(_) => None,
        })
    }

    /// Returns the channels whose secret is in the vault, with its name.
    pub(super) fn vault_secrets(&self) -> impl Iterator<Item = (String, &SecretName)> {
        self.secrets().filter_map(|(name, secret)| match secret {
            TextOrSecret::Secret(secret) => Some((format!("notifications.{name}"), secret)),
            TextOrSecret::Literal(_) => None,
        })
    }
}

/// Converts a secret to the form of the channels.
pub(super) fn secret(secret: &TextOrSecret) -> ChannelSecret {
    match secret {
        TextOrSecret::Literal(text) => ChannelSecret::Value(text.0.clone()),
        TextOrSecret::Secret(name) => ChannelSecret::Named(name.to_string()),
    }
}

fn quiet_hours<'de, D: Deserializer<'de>>(d: D) -> Result<Option<QuietHours>, D::Error> {
    String::deserialize(d)?.parse().map(Some).map_err(de::Error::custom)
}

/// Returns the host and the path of an address.
pub(super) fn host_and_path(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    (!host.is_empty() && !url.contains([' ', '#'])).then_some((host, path))
}

fn address<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(d)?;
    match host_and_path(&url) {
        Some(_) => Ok(Some(url)),
        None => Err(de::Error::custom(format!(
            "`{url}` is not an address such as https://example.org/notify"
        ))),
    }
}

fn topic<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(d)?;
    let path = host_and_path(&url).map(|(_, path)| path.trim_end_matches('/'));
    match path {
        Some(path) if !path.is_empty() && !path.contains('?') => Ok(Some(url)),
        _ => Err(de::Error::custom(format!(
            "`{url}` is not a topic such as https://ntfy.sh/my-topic"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::loader::parse;

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("[notifications]\nquiet = \"night\"\n", "not a daily time such as"),
            ("[notifications]\nquiet = \"07:00-07:00\"\n", "start and end are the same"),
            ("[notifications]\nquiet = \"25:00-07:00\"\n", "not a daily time such as"),
            ("[notifications.ntfy]\nurl = \"https://ntfy.sh\"\n", "is not a topic such as"),
            ("[notifications.webhook]\nurl = \"example.org\"\n", "is not an address such as"),
            ("[notifications]\nmails = true\n", "did you mean `mail`?"),
            ("[notifications.mail]\nto = \"bob@example.org\"\n", "known are"),
        ] {
            let error = parse(Path::new("/c/config.toml"), text).unwrap_err().message;
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn secrets_are_masked_or_named() {
        let text = "[notifications.ntfy]\nurl = \"https://ntfy.sh/t\"\ntoken = \"tk_1\"\n[notifications.webhook]\nurl = \"http://localhost:1/\"\nsecret = { secret = \"hook\" }\n";
        let config = parse(Path::new("/c/config.toml"), text).unwrap();
        assert_eq!(config.literal_service_keys().collect::<Vec<_>>(), ["tk_1"]);
        let vault: Vec<String> =
            config.vault_service_keys().map(|(user, name)| format!("{user} {name}")).collect();
        assert_eq!(vault, ["notifications.webhook hook"]);
        assert!(!format!("{:?}", config.notify_settings(None)).contains("tk_1"));
    }
}
