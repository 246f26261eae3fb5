//! The store as its users see it: the traits of `core` over a file, one handle or several, one process or several.
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
