//! Supervision of runs: starts them, drives each in a separate task, recovers those that no process
//! drives, and reports their events. It does not depend on HTTP.
//!
//! Invariants
//! - At most one task of this process drives a run; between processes, the epoch in the store
//!   decides (`ConversationAndRunStore::take_run`).
//! - A run continues when the client that started it disconnects; it is found by its id.
//! - A subscriber reads events at its own pace; the run never waits for it.
//! - No run is lost: a run that is stored as running and that no process drives is recovered.

mod active_run;
mod broadcast;
mod drive;
mod error;
mod key_locks;
mod recovery_loop;
mod resume;
mod run_idempotency;
mod run_registry;
mod run_result;
mod shutdown;
mod start;
mod supervisor;

pub(crate) use active_run::{ActiveRun, ReadResult, RunEvent, RunSubscriber};
pub(crate) use drive::{ResumeOptions, is_abandoned, resume_run};
pub(crate) use error::RunError;
pub(crate) use recovery_loop::run_recovery_loop;
pub(crate) use resume::{ResumeTarget, resume, resume_target, store_promise};
pub(crate) use run_registry::RunRefused;
pub(crate) use run_result::{RunResult, run_result};
pub(crate) use shutdown::pause_all;
pub(crate) use start::{Requester, StartOptions, start_run};
pub(crate) use supervisor::{RunSupervisor, SupervisorSettings, approval_row};
