//! Errors of operations on goals.

use toolcrib_core::ToolError;

use super::goals::{MAX_DEPTH, MAX_MODEL_GOALS_PER_HOUR, MAX_OPEN};
use super::model::MAX_GOAL_CHARS;
use crate::rows::RowError;

/// Why an operation on goals failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalError {
    /// No goal has this id.
    #[error("There is no goal \"{0}\". goals with the action list shows those that there are.")]
    Unknown(String),
    /// The text is invalid.
    #[error(
        "A goal has 1 to {MAX_GOAL_CHARS} characters. Say what is to be reached, so that it can be understood on its own."
    )]
    BadText,
    /// The text contains a secret.
    #[error(
        "The text contains a secret, so the goal was not started. The person can keep it with `toolcrib secret set NAME`; tools then use it by its name."
    )]
    Secret,
    /// Too many goals are open.
    #[error(
        "{MAX_OPEN} goals are open, which is the maximum. Close one, or wait until one is done."
    )]
    Full,
    /// Goals and tasks start each other too deeply.
    #[error(
        "This run belongs to a goal or task that another one has started; goals start only {MAX_DEPTH} deep. Do it in this run instead."
    )]
    TooDeep,
    /// Models have started the maximum number of goals within an hour.
    #[error(
        "Models have started {MAX_MODEL_GOALS_PER_HOUR} goals within the last hour, which is the maximum. Do it in this run instead, or ask the person, who can start one with `toolcrib goal add`."
    )]
    TooManyPerHour,
    /// The state of the goal does not allow the action.
    #[error("{0}")]
    State(String),
    /// The rows cannot be read or written.
    #[error(transparent)]
    Row(#[from] RowError),
}

impl From<toolcrib_core::StoreError> for GoalError {
    fn from(error: toolcrib_core::StoreError) -> Self {
        Self::Row(error.into())
    }
}

impl From<GoalError> for ToolError {
    fn from(error: GoalError) -> Self {
        match error {
            GoalError::Row(RowError::Store(error)) => {
                Self::execution("The goals cannot be read or written now. Try again later.")
                    .with_detail(error.to_string())
            }
            GoalError::Row(_)
            | GoalError::Full
            | GoalError::TooDeep
            | GoalError::TooManyPerHour
            | GoalError::State(_) => Self::execution(error.to_string()),
            error => Self::validation(error.to_string()),
        }
    }
}
