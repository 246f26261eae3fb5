//! Pursues goals: a run in the background for each, followed until it ends.
//!
//! Invariants
//! - The run of a goal is started under a key of the goal, so that of several daemons, and after a
//!   crash, there is one run.
//! - A goal that is closed has its run stopped within a second.

mod follow;
mod pursuit_loop;

pub(crate) use pursuit_loop::run_pursuits;
