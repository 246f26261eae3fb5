//! Notifications: the only way to reach the person outside of a conversation.
//!
//! A notification is stored first, so that it is on the page and in the list even if channels fail.
//! Then it is pushed to the desktop, to ntfy and to a webhook, as configured, except in quiet
//! hours. The result names the channels that did not accept it.

mod desktop;
mod error;
mod http_channels;
mod notifier;
mod own_mail;
mod quiet_hours;
mod settings;
#[cfg(test)]
mod tests;

pub use error::NotifyError;
pub use notifier::{MAX_MESSAGE_CHARS, MAX_TITLE_CHARS, NewNotification, Notifier, Sent};
pub use own_mail::OwnMail;
pub use quiet_hours::QuietHours;
pub use settings::{
    ChannelSecret, DesktopProgram, MAX_PER_HOUR, MailSettings, NotifySettings, NtfySettings,
    WebhookSettings,
};
