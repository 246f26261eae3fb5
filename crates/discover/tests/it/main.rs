//! Tests of the crate from outside.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod compact;
mod finding;
mod hostile;
mod incremental;
mod model;
