//! Lists tasks.

use super::row::TaskReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Filter of tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListTasksRequest {
    /// Only tasks that may run again.
    pub only_open: bool,
}

/// Lists the owner's tasks, oldest first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &OpContext<'_>,
    request: ListTasksRequest,
) -> Result<Vec<TaskReply>, OpError> {
    let all = ctx.toolcrib.tasks().list(ctx.store.owner, None).await?;
    let listed = all.into_iter().filter(|task| !request.only_open || task.is_open());
    Ok(listed.map(|task| TaskReply::new(&ctx.store, task)).collect())
}
