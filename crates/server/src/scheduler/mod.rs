//! The scheduler: waits for due tasks and runs each as a run of its agent.
//!
//! Invariants
//! - A due task is claimed in the store before its run starts, so that of several daemons one runs
//!   it. Its run is started under a key of the task and its due time, so that a daemon that takes
//!   over finds the run instead of starting a second one.
//! - It waits for the earliest time, and looks at the store at least once a second, because other
//!   processes add tasks and clocks are set.

mod alarm;
mod change_watcher;
mod execution;
mod heartbeat;
mod mail_watcher;
mod notification;
mod scheduler_loop;

pub(crate) use change_watcher::run_change_watcher;
pub(crate) use mail_watcher::run_mail_watcher;
pub(crate) use scheduler_loop::run_scheduler;
