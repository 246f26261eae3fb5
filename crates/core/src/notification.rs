//! Notifications: short messages to the person.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::NotificationId;
use crate::memory::Author;

/// Maximum number of stored notifications per owner; older ones are removed.
pub const NOTIFICATIONS_KEPT: usize = 500;

/// How much a notification wants attention: the three levels of the Desktop Notifications
/// Specification. It changes how a device shows it, not whether it is pushed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// Can be looked at some day.
    Low,
    /// The usual.
    #[default]
    Normal,
    /// Should be looked at now; devices show it until it is closed.
    High,
}

impl Urgency {
    /// Name on the wire and for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }

    fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

impl FromStr for Urgency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Low, Self::Normal, Self::High];
        let found = all.into_iter().find(|urgency| urgency.as_str() == text);
        found.ok_or_else(|| format!("`{text}` is not low, normal or high"))
    }
}

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
    /// How much it wants attention.
    #[serde(default, skip_serializing_if = "Urgency::is_normal")]
    pub urgency: Urgency,
    /// A newer notification of the same owner with the same tag replaces this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// An address that the person can open from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Source of the text if it is outside text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The sender.
    pub author: Author,
    /// Creation time, Unix time in milliseconds.
    pub created_at: i64,
    /// Channels that accepted it for delivery.
    #[serde(default)]
    pub delivered: Vec<String>,
    /// Channels that did not accept it, and why.
    #[serde(default)]
    pub failed: Vec<FailedDelivery>,
    /// When the person dismissed it, Unix time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed_at: Option<i64>,
}

impl Notification {
    /// Returns the link if it can be opened outside of the page. `#/chat/…` is a location within
    /// the page.
    #[must_use]
    pub fn web_link(&self) -> Option<&str> {
        self.link.as_deref().filter(|link| !link.starts_with('#'))
    }
}

/// A channel that did not accept a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedDelivery {
    /// Name of the channel.
    pub channel: String,
    /// Why, for people.
    pub reason: String,
}
