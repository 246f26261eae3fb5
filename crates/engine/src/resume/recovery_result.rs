//! The calls and batches that a process takes over from dead ones.

use toolcrib_core::{AcceptedBatch, CallId};

/// The calls that a recovery ended, and the batches that the caller must finish.
#[derive(Debug)]
pub struct RecoveredWork {
    /// Calls that may have changed something: they ended as `unknown`.
    pub unknown: Vec<CallId>,
    /// Calls that change nothing and that no run or batch resumes: they ended as `cancelled`.
    pub interrupted: Vec<CallId>,
    /// Unfinished accepted batches of this environment, which now belong to this process.
    pub batches: Vec<AcceptedBatch>,
}
