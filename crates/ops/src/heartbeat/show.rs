//! Shows the heartbeat: its settings, when it runs, and its last executions.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::heartbeat::heartbeat_prompt;
use toolcrib_assistant::task::TaskError;
use toolcrib_assistant::time::format_instant;
use toolcrib_core::{Task, TaskStatus};

use crate::context::OpContext;
use crate::error::OpError;
use crate::tasks::{TaskExecutionReply, execution};

/// Number of executions in a reply.
const SHOWN: usize = 5;

/// The heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Heartbeat")]
pub struct HeartbeatReply {
    /// Whether it is enabled.
    pub enabled: bool,
    /// Minutes between two heartbeats.
    pub interval_minutes: u32,
    /// First local hour in which it runs.
    pub active_start: u8,
    /// Local hour at which it ends.
    pub active_end: u8,
    /// Its model; absent = the model of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it runs now.
    pub running: bool,
    /// When it runs next, RFC 3339 with offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The current prompt; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The last executions, newest first.
    pub history: Vec<TaskExecutionReply>,
}

/// Shows the heartbeat of the owner.
///
/// # Errors
/// [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>) -> Result<HeartbeatReply, OpError> {
    let heartbeats = ctx.toolcrib.heartbeats();
    let row = match heartbeats.row(ctx.store.owner).await {
        Ok(row) => Some(row),
        Err(TaskError::Unknown(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let prompt = match ctx.store.shows_payloads {
        true => Some(heartbeat_prompt(&heartbeats.input(ctx.store.owner).await?)),
        false => None,
    };
    Ok(reply(ctx, row, prompt))
}

pub(super) fn reply(
    ctx: &OpContext<'_>,
    row: Option<Task>,
    prompt: Option<String>,
) -> HeartbeatReply {
    let settings = ctx.toolcrib.heartbeats().settings();
    let is_pending = |row: &&Task| row.status == TaskStatus::Pending && settings.enabled;
    let due = row.as_ref().filter(is_pending).and_then(|row| row.due_at);
    let due = due.and_then(|due| Timestamp::from_millisecond(due).ok());
    let shows = ctx.store.shows_payloads;
    HeartbeatReply {
        enabled: settings.enabled,
        interval_minutes: settings.interval_minutes,
        active_start: settings.active_start,
        active_end: settings.active_end,
        model: settings.model,
        running: row.as_ref().is_some_and(|row| row.status == TaskStatus::Running),
        next: due.map(|due| format_instant(due, &TimeZone::system())),
        prompt,
        history: row
            .map(|row| {
                row.history.into_iter().take(SHOWN).map(|one| execution(one, shows)).collect()
            })
            .unwrap_or_default(),
    }
}
