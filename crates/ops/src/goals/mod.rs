//! Operations on goals.

mod change;
mod list;
mod row;
mod start;

pub use change::{ChangeGoalRequest, GoalChange, change};
pub use list::{ListGoalsRequest, ShowGoalRequest, list, show};
pub use row::GoalReply;
pub use start::{StartGoalRequest, start};
