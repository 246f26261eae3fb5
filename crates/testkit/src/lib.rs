//! Pieces for tests: scripted tools, a scripted approver, a clock that is set by hand, an observer that remembers.
//!
//! For tests only; it knows nothing but `core`, so that every crate can use it.

#![expect(clippy::panic, reason = "a test that is set up wrongly should stop at once")]

mod approver;
mod clock;
pub mod conformance;
#[cfg(unix)]
pub mod postgres;
mod recorder;
mod tool;
pub mod traffic;

pub use approver::ScriptedApprover;
pub use clock::FakeClock;
pub use recorder::Recorder;
pub use tool::{ScriptedTool, source_of};
