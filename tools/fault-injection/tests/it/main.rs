//! Short runs of everything that `cargo xtask crash` runs long.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

#[cfg(target_os = "linux")]
mod daemons;
mod single_process;
