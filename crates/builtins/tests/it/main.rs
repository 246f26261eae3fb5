//! The tools that run programs, on real programs in a real sandbox.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing test panics, and says what it could not try"
)]

mod bench;
mod workbench;
