//! Closes a goal, or starts a waiting one.

use super::row::GoalReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalChange {
    /// Cancels the goal; a daemon stops its run within a second.
    Close,
    /// Starts a waiting goal. The person who starts it takes responsibility for its text.
    Resume,
}

/// The goal to change.
#[derive(Debug, Clone)]
pub struct ChangeGoalRequest {
    /// Its id.
    pub goal: String,
    /// The action.
    pub change: GoalChange,
}

/// Closes a goal, or starts a waiting one.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Conflict`] if its state does not allow that,
/// [`OpError::Store`].
pub async fn change(ctx: &OpContext<'_>, request: ChangeGoalRequest) -> Result<GoalReply, OpError> {
    let (goals, writer) = (ctx.toolcrib.goals(), writer(&ctx.store));
    let goal = match request.change {
        GoalChange::Close => goals.close(&writer, &request.goal).await?,
        GoalChange::Resume => goals.resume(&writer, &request.goal).await?,
    };
    Ok(GoalReply::new(&ctx.store, goal))
}
