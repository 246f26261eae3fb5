//! The scheduler: waits for due tasks and runs each as a run of its agent.
//!
//! Invariants
//! - A due task is claimed in the store before its run starts, so that only one of several daemons
//!   runs it. Its run is started under an idempotency key of the task and its due time, so that a
//!   daemon that takes over finds the run instead of starting a second one.
//! - The scheduler waits for the earliest due time, and reads the store at least once a second,
//!   because other processes add tasks and clocks are adjusted.

mod alarm;
mod app_watcher;
mod change_watcher;
mod execution;
mod heartbeat;
mod mail_watcher;
mod notification;
mod scheduler_loop;
mod sms_watcher;

pub(crate) use app_watcher::run_app_watcher;
pub(crate) use change_watcher::run_change_watcher;
pub(crate) use mail_watcher::run_mail_watcher;
pub(crate) use scheduler_loop::run_scheduler;
pub(crate) use sms_watcher::run_sms_watcher;
