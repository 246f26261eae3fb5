//! `send_notification`: sends a short message to the person outside of the conversation.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec, Urgency, defaults,
};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{examples, personal_spec};
use crate::notify::{NewNotification, Sent};

/// Handler of `send_notification`.
pub(super) struct SendNotification(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The message, short and understandable on its own.
    message: String,
    /// The title. Default: Toolcrib.
    title: Option<String>,
    /// Default: normal.
    urgency: Option<Level>,
}

// `Urgency` without its texts, which would be in the definition of the tool.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Low,
    Normal,
    High,
}

impl From<Level> for Urgency {
    fn from(level: Level) -> Self {
        match level {
            Level::Low => Self::Low,
            Level::Normal => Self::Normal,
            Level::High => Self::High,
        }
    }
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = personal_spec::<Args>(
        "send_notification",
        "Send a notification",
        "Send the user a notification on their desktop, phone and page, as configured. For what they should notice while they are not looking at this conversation.",
    );
    // A channel has 10 s to respond.
    spec.timeout = defaults::TIMEOUT_FETCH;
    spec.examples = examples([(
        "Tell me when the build is done",
        json!({"title": "Build", "message": "The build is done: 412 tests passed."}),
    )]);
    spec.needs = ["notify me", "push a message to my phone"].map(str::to_owned).to_vec();
    spec
}

impl Tool for SendNotification {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        Ok(Assessment::from_spec(spec).with_summary(format!("notify: {}", args.message)))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let sent = self
            .0
            .notifier
            .send(NewNotification {
                owner: ctx.context.owner.clone(),
                title: args.title.unwrap_or_default(),
                message: args.message,
                urgency: args.urgency.map_or(Urgency::Normal, Urgency::from),
                untrusted: self.0.untrusted(ctx),
                author: author(ctx),
                ..NewNotification::default()
            })
            .await?;
        Ok(ToolOutput::structured(answer(&sent)))
    }
}

/// Renders the result of a notification for the model.
pub(super) fn answer(sent: &Sent) -> Value {
    let Sent { notification, quiet_until } = sent;
    let mut answer =
        json!({ "notification_id": notification.id, "delivered": notification.delivered });
    if !notification.failed.is_empty() {
        answer["not_delivered"] = json!(notification.failed);
    }
    let list = "it is in the user's list of notifications, on the page and in `toolcrib notification list`";
    if let Some(end) = quiet_until {
        let end = end.strftime("%H:%M");
        answer["note"] = json!(format!(
            "The user's quiet hours last until {end}, so it was not pushed; {list}."
        ));
    } else if notification.delivered.is_empty() {
        answer["note"] = json!(format!("It was not pushed to any device; {list}."));
    }
    answer
}
