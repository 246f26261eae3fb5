//! Pieces for tests: scripted tools, a scripted approver, a clock that is set by hand, an observer
//! that remembers.
//!
//! For tests only; it knows nothing but `core`, so that every crate can use it.

#![expect(clippy::panic, reason = "a test that is set up wrongly should stop at once")]

pub mod conformance;
mod event_recorder;
mod fake_clock;
#[cfg(unix)]
pub mod mail_servers;
#[cfg(unix)]
pub mod postgres_server;
pub mod provider_recordings;
mod scripted_approver;
mod scripted_tool;

pub use event_recorder::Recorder;
pub use fake_clock::FakeClock;
pub use scripted_approver::ScriptedApprover;
pub use scripted_tool::{ScriptedTool, fixed_source};
