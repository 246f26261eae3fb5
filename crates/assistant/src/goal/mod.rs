//! Goals: aims that background runs pursue, with a separate budget.
//!
//! This module stores goals and their states; a daemon starts the runs (`server`: `pursuit`).

mod error;
mod goals;
mod model;

pub use error::GoalError;
pub use goals::{Goals, MAX_DEPTH, MAX_MODEL_GOALS_PER_HOUR, MAX_OPEN, NewGoal};
pub use model::{Goal, GoalBudget, GoalEnd, GoalStatus, MAX_GOAL_CHARS, pursuit_message};
