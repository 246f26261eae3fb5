//! Creates a task.

use toolcrib_assistant::task::{NewTask, When};
use toolcrib_core::{Author, Surroundings, TaskKind};

use super::row::TaskReply;
use crate::context::OpContext;
use crate::error::OpError;

/// A task to create.
#[derive(Debug, Clone)]
pub struct AddTaskRequest {
    /// Its purpose.
    pub description: String,
    /// The prompt of its runs.
    pub prompt: String,
    /// The condition that makes it due.
    pub when: When,
    /// IANA name of a time zone; `None` selects the zone of the person, or of this machine.
    pub zone: Option<String>,
    /// Information about the person, for its runs.
    pub surroundings: Surroundings,
    /// Whether it is an alarm: it notifies instead of running an agent.
    pub is_alarm: bool,
    /// Whether it notifies once instead of running an agent.
    pub is_notification: bool,
    /// The agent; `None` selects the configured one.
    pub agent: Option<String>,
}

/// Creates a task.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Conflict`], [`OpError::Store`].
pub async fn add(ctx: &OpContext<'_>, request: AddTaskRequest) -> Result<TaskReply, OpError> {
    if request.when.hook.is_some() && !ctx.store.owner.is_empty() {
        return Err(OpError::Invalid(
            "webhooks start tasks of the owner of this machine only, whose vault has their secrets"
                .to_owned(),
        ));
    }
    let new = NewTask {
        owner: ctx.store.owner.to_owned(),
        description: request.description,
        prompt: request.prompt,
        kind: match (request.is_alarm, request.is_notification) {
            (true, false) => TaskKind::Alarm,
            (false, true) => TaskKind::Notification,
            (false, false) => TaskKind::Run,
            (true, true) => {
                return Err(OpError::Invalid(
                    "a task is an alarm or a notification, not both".to_owned(),
                ));
            }
        },
        when: request.when,
        zone: request.zone.or_else(|| request.surroundings.zone().map(str::to_owned)),
        surroundings: request.surroundings,
        agent: request.agent.unwrap_or_default(),
        author: Author::person(ctx.store.actor),
        depth: 0,
        untrusted: None,
    };
    let task = ctx.toolcrib.tasks().add(new).await?;
    Ok(TaskReply::new(&ctx.store, task))
}
