//! Tasks: creating, changing and finding them, and the steps of a scheduler.

mod claim_due_tasks;
mod error;
mod lifecycle;
mod new_task;
mod tasks;
#[cfg(test)]
mod tests;

pub use claim_due_tasks::{DueTasks, claim_due};
pub use error::TaskError;
pub use lifecycle::{
    Ended, LATE_MS, LEASE_MS, MAX_ATTEMPTS, MAX_RINGS, alarm_message, alarm_over, claim, postpone,
    present_event, release, renew, run_message, rung, schedule_of, settle,
};
pub use new_task::{NewTask, When};
pub use tasks::{
    MAX_DEPTH, MAX_EVENTS, MAX_MODEL_TASKS, MAX_MODEL_TASKS_PER_HOUR, MAX_TASKS, Tasks,
};
