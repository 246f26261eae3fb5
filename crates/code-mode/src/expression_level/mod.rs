//! The level `expression`: a built-in interpreter in a separate process, a new one per call.

pub(crate) mod runner;
pub(crate) mod worker;
pub(crate) mod worker_pool;
