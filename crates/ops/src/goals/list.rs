//! Lists goals, and shows one.

use super::row::GoalReply;
use crate::context::OpContext;
use crate::error::OpError;

/// All goals of the owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListGoalsRequest;

/// The goal to show.
#[derive(Debug, Clone)]
pub struct ShowGoalRequest {
    /// Its id.
    pub goal: String,
}

/// Returns the owner's goals, the newest first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(ctx: &OpContext<'_>, _: ListGoalsRequest) -> Result<Vec<GoalReply>, OpError> {
    let all = ctx.toolcrib.goals().list(ctx.store.owner).await?;
    Ok(all.into_iter().map(|goal| GoalReply::new(&ctx.store, goal)).collect())
}

/// Returns one goal with its result.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, request: ShowGoalRequest) -> Result<GoalReply, OpError> {
    let goal = ctx.toolcrib.goals().get(ctx.store.owner, &request.goal).await?;
    Ok(GoalReply::new(&ctx.store, goal))
}
