//! Result of a program that was run to its end.

use std::time::Duration;

use toolcrib_core::{ErrorType, ToolError};
use toolcrib_sandbox::process::{Captured, End, Report};
use toolcrib_sandbox::{JobResult, Level, LimitHit, RefusedHost};

/// Result of a program.
#[derive(Debug, Clone)]
pub struct ProgramOutput {
    /// How it ended.
    pub end: End,
    /// The limit that stopped it, if it did not end by itself.
    pub stopped: Option<LimitHit>,
    /// Its standard output: the beginning, the end, and the total size.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// The sandbox level at which it ran.
    pub level: Level,
    /// Wall time from start to end.
    pub duration: Duration,
    /// CPU time.
    pub cpu: Duration,
    /// Hosts that it requested and that were refused.
    pub refused: Vec<RefusedHost>,
    /// Sentences on files that it left and that other programs execute.
    pub executed_files_note: Option<String>,
}

impl ProgramOutput {
    pub(super) fn new(
        report: Report,
        ended: JobResult,
        executed_files_note: Option<String>,
    ) -> Self {
        let Report { end, stdout, stderr, duration, level } = report;
        let JobResult { stopped, cpu, refused, .. } = ended;
        Self { end, stopped, stdout, stderr, level, duration, cpu, refused, executed_files_note }
    }

    /// Returns whether it ended by itself with code 0.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.end == End::Exited(0)
    }

    /// Returns the exit code if it ended by itself; 128 plus the number for a signal.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match self.end {
            End::Exited(code) => Some(code),
            End::Signalled(signal) if self.stopped.is_none() => Some(128 + signal),
            _ => None,
        }
    }

    /// Returns the error of a call whose program was stopped, for tools without partial results;
    /// `None` if it ended by itself.
    #[must_use]
    pub fn stop_error(&self, what: &str) -> Option<ToolError> {
        let doubt = "Whether it took effect is unknown: check before you call it again.";
        match (self.end, self.stopped) {
            (End::TimedOut, _) => {
                let text =
                    format!("Tool execution timed out after {}s. {doubt}", self.duration.as_secs());
                Some(ToolError::new(ErrorType::Timeout, text))
            }
            (End::Stopped, _) => {
                Some(ToolError::new(ErrorType::Cancelled, format!("The call was stopped. {doubt}")))
            }
            (_, Some(stop)) => Some(ToolError::new(
                ErrorType::SandboxError,
                format!(
                    "{what} was stopped because {}. Do less at once, or tell the user, who can raise the limit in [sandbox] of the configuration.",
                    stop.message()
                ),
            )),
            (_, None) => None,
        }
    }

    /// Returns a sentence about refused hosts; `None` if there were none.
    #[must_use]
    pub fn blocked_hosts_note(&self) -> Option<String> {
        blocked_hosts_note(&self.refused)
    }
}

/// Returns a sentence about refused hosts; `None` if there were none.
pub(crate) fn blocked_hosts_note(refused: &[RefusedHost]) -> Option<String> {
    if refused.is_empty() {
        return None;
    }
    let hosts: Vec<&str> = refused.iter().map(|refused| refused.host.as_str()).collect();
    Some(format!(
        "Not reached, because the sandbox does not allow it: {}. Only the user can allow a host, in `sandbox.allow_hosts` of the configuration.",
        hosts.join(", ")
    ))
}
