//! Changes the state of a task.

use toolcrib_core::TaskId;

use super::row::TaskReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskChange {
    /// Cancels the task: it does not run again.
    Cancel,
    /// Pauses the task until it is resumed.
    Pause,
    /// Resumes the task.
    Resume,
    /// Makes the task due now.
    Run,
    /// Stops the ringing of an alarm.
    Dismiss,
}

/// The task to change.
#[derive(Debug, Clone, Copy)]
pub struct ChangeTaskRequest {
    /// Its id.
    pub id: TaskId,
    /// The change.
    pub change: TaskChange,
}

/// Cancels, pauses or resumes a task, makes it due now, or ends the ringing of an alarm. A daemon
/// runs due tasks.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Conflict`] if its state does not allow that,
/// [`OpError::Store`].
pub async fn change(ctx: &OpContext<'_>, request: ChangeTaskRequest) -> Result<TaskReply, OpError> {
    let (tasks, owner) = (ctx.toolcrib.tasks(), ctx.store.owner);
    let task = match request.change {
        TaskChange::Cancel => tasks.cancel(owner, request.id).await?,
        TaskChange::Pause => tasks.pause(owner, request.id).await?,
        TaskChange::Resume => tasks.resume(owner, request.id).await?,
        TaskChange::Run => tasks.run_now(owner, request.id).await?,
        TaskChange::Dismiss => {
            let task = tasks.dismiss(owner, request.id).await?;
            ctx.toolcrib.notifier().dismiss_tag(owner, &request.id.to_string()).await?;
            task
        }
    };
    Ok(TaskReply::new(&ctx.store, task))
}
