//! The sandbox from outside.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a helper of a test fails the test, as the test itself would, and what is not tried is said aloud"
)]

mod egress;
mod escape;
mod life;
mod mirror;
mod other_root;
mod policy;
mod system;
mod userland;
mod world;
