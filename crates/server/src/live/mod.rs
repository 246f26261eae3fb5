//! Runs at work in this daemon.

/// Runs at work in this daemon.
#[derive(Default)]
pub(crate) struct LiveRuns {}
