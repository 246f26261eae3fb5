//! Due tasks of several daemons on one database whose clocks are set and which are killed: each
//! time of a task is run exactly once, or said to be missed.

mod clocks;
mod due_times;
mod schedule_trial;

pub(crate) use schedule_trial::{SchedulePlan, run};
