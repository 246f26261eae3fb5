//! A notification in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::notify::NotifyError;
use toolcrib_core::{Notification, Urgency};

use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Notification")]
pub struct NotificationReply {
    /// Its id.
    pub notification: String,
    /// Title; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The message; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// An address to open; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// `low`, `normal` or `high`.
    pub urgency: Urgency,
    /// A newer notification with this tag replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Source of its text, if that is untrusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The person, token or agent that sent it.
    pub by: String,
    /// The run that sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Channels that accepted it.
    pub delivered: Vec<String>,
    /// Channels that failed.
    pub failed: Vec<FailedDeliveryReply>,
    /// When it was dismissed, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dismissed_at: Option<i64>,
}

/// A channel that failed to deliver a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FailedDelivery")]
pub struct FailedDeliveryReply {
    /// `desktop`, `ntfy` or `webhook`.
    pub channel: String,
    /// The reason.
    pub reason: String,
}

impl NotificationReply {
    pub(super) fn new(ctx: &StoreContext<'_>, row: Notification) -> Self {
        let shows = ctx.shows_payloads;
        let failed = row.failed.into_iter();
        Self {
            notification: row.id.to_string(),
            title: shows.then_some(row.title),
            message: shows.then_some(row.message),
            link: row.link.filter(|_| shows),
            urgency: row.urgency,
            tag: row.tag,
            untrusted: row.untrusted,
            by: row.author.by,
            run: row.author.run.map(|run| run.to_string()),
            created_at: row.created_at,
            delivered: row.delivered,
            failed: failed
                .map(|one| FailedDeliveryReply { channel: one.channel, reason: one.reason })
                .collect(),
            dismissed_at: row.dismissed_at,
        }
    }
}

impl From<NotifyError> for OpError {
    fn from(error: NotifyError) -> Self {
        match error {
            NotifyError::Store(error) => Self::Store(error),
            NotifyError::Unknown(id) => Self::not_found(Resource::Notification, id),
            NotifyError::TooMany { .. } => Self::Conflict(error.to_string()),
            NotifyError::BadText | NotifyError::Secret => Self::Invalid(error.to_string()),
        }
    }
}
