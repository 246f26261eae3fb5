//! Webhooks that start tasks: signed requests of other programs.
//!
//! The sender has no token. It proves with a signature that it has the secret `hook-NAME` of the
//! vault; the time in the signature bounds how long a request can be repeated, and the signature is
//! the identity of the event, so that a repetition within that time starts nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::Toolcrib;
use toolcrib_assistant::signature::is_valid;
use toolcrib_core::{
    Clock as _, SystemClock, Task, TaskEvent, TaskStatus, TaskTrigger, canonical_json,
};

use crate::error::OpError;

/// How far the time of a request may be from ours, in seconds.
const WINDOW_S: i64 = 300;
/// Characters of a body that the run gets.
const MAX_CHARS: usize = 8_000;
/// The owner whose vault has the secrets.
const OWNER: &str = "";

/// A request of another program.
#[derive(Debug, Clone, Copy)]
pub struct WebhookRequest<'a> {
    /// The name of the webhook.
    pub hook: &'a str,
    /// The Unix time in seconds that is signed.
    pub seconds: i64,
    /// The signature: `sha256=` and hexadecimal digits.
    pub signature: &'a str,
    /// The media type of the body.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// A request with a valid signature.
#[derive(Debug)]
pub struct VerifiedWebhook {
    tasks: Vec<Task>,
    event: TaskEvent,
}

/// The result of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HookAnswer")]
pub struct WebhookReply {
    /// The tasks that it started.
    pub tasks: Vec<String>,
    /// Tasks that had this request already.
    pub repeated: Vec<String>,
}

/// Checks signature and time. An unknown hook, a missing secret and a wrong signature have the same
/// answer: a stranger learns no names.
///
/// # Errors
/// [`OpError::Unauthorized`], [`OpError::Internal`] if the vault cannot be read,
/// [`OpError::Store`].
pub async fn verify_webhook(
    toolcrib: &Toolcrib,
    request: WebhookRequest<'_>,
) -> Result<VerifiedWebhook, OpError> {
    let WebhookRequest { hook, seconds, signature, content_type, body } = request;
    let tasks = tasks_of(toolcrib, hook).await?;
    let secret = secret_of(toolcrib, &tasks).await?.filter(|secret| !secret.is_empty());
    let key = secret.as_deref().unwrap_or_default();
    if !is_valid(key.as_bytes(), seconds, body, signature) || secret.is_none() {
        let words = "the signature is not valid, or there is no such hook";
        return Err(OpError::Unauthorized(words.to_owned()));
    }
    let now = SystemClock.now_ms();
    if (now / 1_000 - seconds).abs() > WINDOW_S {
        let words = "the time of the request is more than 300 s from that of the daemon";
        return Err(OpError::Unauthorized(words.to_owned()));
    }
    let shown: String = String::from_utf8_lossy(body).chars().take(MAX_CHARS).collect();
    // The digits may be written in both cases.
    let hash = canonical_json::sha256_parts(&["hook", &signature.trim().to_ascii_lowercase()]);
    let event = TaskEvent {
        key: format!("hook-{}", hash.get(..32).unwrap_or_default()),
        at: now,
        text: format!("webhook, {}\n{shown}", first_line(content_type)),
    };
    Ok(VerifiedWebhook { tasks, event })
}

impl VerifiedWebhook {
    /// Gives the event to the tasks of the webhook.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn deliver(self, toolcrib: &Toolcrib) -> Result<WebhookReply, OpError> {
        let mut reply = WebhookReply::default();
        for task in self.tasks {
            let event = self.event.clone();
            match toolcrib.tasks().add_event(OWNER, task.id, event).await? {
                true => reply.tasks.push(task.id.to_string()),
                false => reply.repeated.push(task.id.to_string()),
            }
        }
        Ok(reply)
    }
}

/// The tasks that this hook starts.
async fn tasks_of(toolcrib: &Toolcrib, name: &str) -> Result<Vec<Task>, OpError> {
    let all = toolcrib.stores().tasks.tasks(OWNER).await?;
    let is_started = |task: &Task| {
        matches!(&task.trigger, TaskTrigger::Hook { hook, .. } if hook == name)
            && matches!(task.status, TaskStatus::Pending | TaskStatus::Running)
    };
    Ok(all.into_iter().filter(is_started).collect())
}

/// The secret of the hook; `None` = there is no task, or no secret.
async fn secret_of(toolcrib: &Toolcrib, tasks: &[Task]) -> Result<Option<String>, OpError> {
    let Some(TaskTrigger::Hook { secret, .. }) = tasks.first().map(|task| &task.trigger) else {
        return Ok(None);
    };
    let (Ok(name), Some(vault)) = (secret.parse(), toolcrib.vault()) else { return Ok(None) };
    let read = tokio::task::spawn_blocking(move || vault.read()).await;
    let secrets = match read {
        Ok(Ok(secrets)) => secrets,
        Ok(Err(error)) => return Err(unreadable(&error)),
        Err(error) => return Err(unreadable(&error)),
    };
    let found = secrets.get(&name).map(|secret| secret.expose().to_owned());
    if found.is_none() {
        tracing::warn!(secret, "a webhook has no secret, so it is refused");
    }
    Ok(found)
}

fn unreadable(error: &dyn std::fmt::Display) -> OpError {
    tracing::error!(%error, "the vault cannot be read");
    OpError::Internal("the secret cannot be read now".to_owned())
}

fn first_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}
