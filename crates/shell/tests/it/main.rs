//! A command line as bash reads it, and as this crate does.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod bash;
mod generated;
mod properties;
mod second_opinion;
mod short;
mod table;
