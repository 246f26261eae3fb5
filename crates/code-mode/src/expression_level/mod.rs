//! The level `expression`: a built-in interpreter in a process of its own, a fresh one per call.

pub(crate) mod runner;
pub(crate) mod worker;
pub(crate) mod worker_pool;
