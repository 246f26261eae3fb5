//! Notifications: short messages to the person.

use serde::{Deserialize, Serialize};

use crate::id::NotificationId;
use crate::memory::Author;

/// Notifications of one owner that are kept; older ones are removed.
pub const NOTIFICATIONS_KEPT: usize = 500;

/// One notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// Id.
    pub id: NotificationId,
    /// Owner.
    pub owner: String,
    /// Title, one line.
    pub title: String,
    /// The message.
    pub message: String,
    /// A newer notification of the same owner with the same tag replaces this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// An address that the person can open from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// What its text comes from if that is outside text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// Who or what sent it.
    pub author: Author,
    /// Creation time, Unix time in milliseconds.
    pub created_at: i64,
    /// Channels that took it over.
    #[serde(default)]
    pub delivered: Vec<String>,
    /// Channels that did not, and why.
    #[serde(default)]
    pub failed: Vec<FailedDelivery>,
    /// When the person dismissed it, Unix time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed_at: Option<i64>,
}

impl Notification {
    /// The link, if it can be opened outside of the page: `#/chat/…` is a place on the page.
    #[must_use]
    pub fn web_link(&self) -> Option<&str> {
        self.link.as_deref().filter(|link| !link.starts_with('#'))
    }
}

/// A channel that did not take a notification over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedDelivery {
    /// Name of the channel.
    pub channel: String,
    /// Why, for people.
    pub reason: String,
}
