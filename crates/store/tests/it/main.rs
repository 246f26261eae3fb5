//! Integration tests of the stores: the traits of `core` over a file, with one or several handles
//! and processes.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod artifacts;
mod audit;
mod calls;
mod conformance;
mod faults;
mod files;
#[cfg(all(feature = "postgres", unix))]
mod postgres;
mod processes;
