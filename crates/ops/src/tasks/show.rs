//! Shows a task.

use toolcrib_core::TaskId;

use super::row::TaskReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The task to show.
#[derive(Debug, Clone, Copy)]
pub struct ShowTaskRequest {
    /// Its id.
    pub id: TaskId,
}

/// Shows a task with its last executions.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, request: ShowTaskRequest) -> Result<TaskReply, OpError> {
    let task = ctx.toolcrib.tasks().get(ctx.store.owner, request.id).await?;
    Ok(TaskReply::new(&ctx.store, task))
}
