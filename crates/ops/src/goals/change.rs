//! Closes a goal, or lets one begin.

use super::row::GoalReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalChange {
    /// It is cancelled; a daemon stops its run within a second.
    Close,
    /// A waiting one begins. Who lets it begin answers for its text.
    Resume,
}

/// Which goal.
#[derive(Debug, Clone)]
pub struct ChangeGoalRequest {
    /// Its id.
    pub goal: String,
    /// The action.
    pub change: GoalChange,
}

/// Closes a goal, or lets one begin.
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
