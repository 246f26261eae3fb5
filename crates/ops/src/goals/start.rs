//! Starts a goal.

use toolcrib_assistant::goal::{GoalBudget, NewGoal};
use toolcrib_core::Surroundings;

use super::row::GoalReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// A goal to start.
#[derive(Debug, Clone, Default)]
pub struct StartGoalRequest {
    /// The objective.
    pub text: String,
    /// The agent of its run; `None` selects the configured one.
    pub agent: Option<String>,
    /// Maximum number of rounds of its run, 1 to 100; default 40.
    pub rounds: Option<u32>,
    /// Maximum number of tokens of its run; default 500,000.
    pub tokens: Option<u64>,
    /// Information about the person, for its run.
    pub surroundings: Surroundings,
}

/// Maximum number of rounds of a run.
const MAX_ROUNDS: u32 = 100;

/// Starts a goal; a daemon starts its run within a second.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Conflict`] if too many are open, [`OpError::Store`].
pub async fn start(ctx: &OpContext<'_>, request: StartGoalRequest) -> Result<GoalReply, OpError> {
    let budget = GoalBudget::default();
    let rounds = request.rounds.unwrap_or(budget.rounds);
    let tokens = request.tokens.unwrap_or(budget.tokens);
    if !(1..=MAX_ROUNDS).contains(&rounds) || tokens == 0 {
        return Err(OpError::Invalid(format!(
            "rounds must be from 1 to {MAX_ROUNDS}, and tokens more than 0"
        )));
    }
    let new = NewGoal {
        goal: request.text,
        agent: request.agent.unwrap_or_default(),
        budget: GoalBudget { rounds, tokens, ..budget },
        surroundings: request.surroundings,
        ..NewGoal::default()
    };
    let goal = ctx.toolcrib.goals().start(&writer(&ctx.store), new).await?;
    Ok(GoalReply::new(&ctx.store, goal))
}
