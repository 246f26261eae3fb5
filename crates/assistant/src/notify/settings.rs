//! Settings of the channels.

use std::fmt;
use std::path::PathBuf;

use super::quiet_hours::QuietHours;

/// Default maximum of notifications that models may send in an hour: one every three minutes, which
/// a person can still follow.
pub const MAX_PER_HOUR: u32 = 20;

/// Settings of the channels. The default has none: notifications appear only on the page and in the
/// list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifySettings {
    /// The desktop of this machine.
    pub desktop: Option<DesktopProgram>,
    /// A topic of an ntfy server.
    pub ntfy: Option<NtfySettings>,
    /// An address that gets each notification as JSON.
    pub webhook: Option<WebhookSettings>,
    /// Mail to the person's own address.
    pub mail: Option<MailSettings>,
    /// The hours in which only alarms are pushed.
    pub quiet: Option<QuietHours>,
    /// Maximum notifications that models may send in an hour, per owner.
    pub max_per_hour: u32,
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self {
            desktop: None,
            ntfy: None,
            webhook: None,
            mail: None,
            quiet: None,
            max_per_hour: MAX_PER_HOUR,
        }
    }
}

impl NotifySettings {
    /// Returns the secrets, so that those of the vault can replace their names.
    pub fn secrets_mut(&mut self) -> impl Iterator<Item = &mut ChannelSecret> {
        let ntfy = self.ntfy.as_mut().and_then(|ntfy| ntfy.token.as_mut());
        let webhook = self.webhook.as_mut().and_then(|webhook| webhook.secret.as_mut());
        ntfy.into_iter().chain(webhook)
    }
}

/// The program that shows notifications on the desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesktopProgram {
    /// `notify-send`, or `osascript` on macOS.
    pub program: PathBuf,
    /// Its complete environment: the variables that connect to the person's desktop.
    pub env: Vec<(String, String)>,
}

/// A topic of an ntfy server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NtfySettings {
    /// Address of the topic, such as `https://ntfy.sh/my-topic`.
    pub url: String,
    /// Access token.
    pub token: Option<ChannelSecret>,
}

/// Mail from an account to its own address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailSettings {
    /// The account; `None` for the only configured one.
    pub account: Option<String>,
}

/// An address that gets each notification as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The address.
    pub url: String,
    /// Key of the signature; without a key, requests are not signed.
    pub secret: Option<ChannelSecret>,
}

/// The secret of a channel, or of the calendar account.
#[derive(Clone, PartialEq, Eq)]
pub enum ChannelSecret {
    /// The secret itself.
    Value(String),
    /// Name of a secret of the vault, until the secret replaces it.
    Named(String),
}

impl ChannelSecret {
    /// Returns the secret, or why it is missing.
    pub(crate) fn value(&self) -> Result<&str, String> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Named(name) => Err(format!(
                "the vault has no secret `{name}`; set it with `toolcrib secret set {name}`"
            )),
        }
    }
}

impl fmt::Debug for ChannelSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("[hidden]"),
            Self::Named(name) => write!(f, "secret {name}"),
        }
    }
}
