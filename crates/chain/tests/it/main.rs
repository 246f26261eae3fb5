//! `code_exec` with the real interpreter, the real sandbox and the Python of this machine.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod chain;
mod chain_full;
mod chain_places;
mod chain_waits;
mod chaining;
mod environment;
mod expression;
mod full;
mod hostile;
mod world;
