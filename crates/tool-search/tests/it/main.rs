//! Integration tests of tool search.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod compact_evaluation;
mod hostile;
mod incremental;
mod model;
mod ranking;
