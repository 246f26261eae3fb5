//! Pursues goals: a run in the background for each, followed until it ends.
//!
//! Invariants
//! - The run of a goal is started under an idempotency key of the goal, so that several daemons, or
//!   one after a crash, start one run.
//! - The run of a closed goal is stopped within a second.

mod follow;
mod pursuit_loop;

pub(crate) use pursuit_loop::run_pursuits;
