//! Sends a notification of a person or a program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::notify::NewNotification;
use toolcrib_core::{Author, Urgency};

use super::row::NotificationReply;
use crate::context::OpContext;
use crate::error::OpError;

/// A notification to send.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NewNotification")]
#[serde(deny_unknown_fields)]
pub struct SendNotificationRequest {
    /// The message.
    pub message: String,
    /// The title; default `Toolcrib`.
    #[serde(default)]
    pub title: String,
    /// `low`, `normal` (the default) or `high`: how devices show it.
    #[serde(default)]
    pub urgency: Urgency,
    /// It replaces an earlier one with this tag.
    #[serde(default)]
    pub tag: Option<String>,
}

/// A sent notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentNotification {
    /// The notification with its deliveries.
    #[serde(flatten)]
    pub notification: NotificationReply,
    /// Local time at which the quiet hours end, if they prevented the delivery to channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_until: Option<String>,
}

/// Sends a notification to the owner over the configured channels.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Store`].
pub async fn send(
    ctx: &OpContext<'_>,
    request: SendNotificationRequest,
) -> Result<SentNotification, OpError> {
    let new = NewNotification {
        owner: ctx.store.owner.to_owned(),
        title: request.title,
        message: request.message,
        urgency: request.urgency,
        tag: request.tag,
        author: Author::person(ctx.store.actor),
        ..NewNotification::default()
    };
    let sent = ctx.toolcrib.notifier().send(new).await?;
    Ok(SentNotification {
        notification: NotificationReply::new(&ctx.store, sent.notification),
        quiet_until: sent.quiet_until.map(|end| end.strftime("%H:%M").to_string()),
    })
}
