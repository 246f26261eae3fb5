//! The tools from outside: with the real worker in the real sandbox.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod documents;
mod made;
mod world;
