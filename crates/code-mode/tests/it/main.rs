//! Integration tests with the real interpreter, the real sandbox and the Python of this machine.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod expression_level;
mod full_level;
mod hostile;
mod support;
mod tool_chain;
mod tool_chain_concurrency;
mod tool_chain_full_level;
mod tool_chain_support;
mod tool_chain_suspend;
mod virtual_env;
