//! The limits of a program, and its result.

use std::time::Duration;

use super::output_capture::Captured;
use crate::Level;

/// Limits of one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock timeout.
    pub time: Duration,
    /// Maximum captured bytes of standard output: half from its beginning, half from its end.
    pub stdout: usize,
    /// Maximum captured bytes of standard error, in the same way.
    pub stderr: usize,
}

impl Default for Limits {
    /// Limits a program to 30 s, 256 KB of output and 64 KB of errors.
    fn default() -> Self {
        Self { time: Duration::from_secs(30), stdout: 256 * 1024, stderr: 64 * 1024 }
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Exited with this code.
    Exited(i32),
    /// Killed by this signal, sent by another process.
    Signalled(i32),
    /// Stopped because of the timeout.
    TimedOut,
    /// Stopped by the caller.
    Stopped,
}

/// The result of a program.
#[derive(Debug, Clone)]
pub struct Report {
    /// How it ended.
    pub end: End,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// Wall-clock time including cleanup.
    pub duration: Duration,
    /// Isolation level.
    pub level: Level,
}
