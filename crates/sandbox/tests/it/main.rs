//! Integration tests of the sandbox.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a helper of a test fails the test, as the test itself would, and what is not tried is said aloud"
)]

mod egress;
mod escape;
mod fake_mirror;
mod fake_rootfs;
mod lifecycle;
mod policy;
mod rootfs;
mod test_host;
mod userland;
