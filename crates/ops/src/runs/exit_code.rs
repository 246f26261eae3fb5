//! The exit code of a command that ran a run, in this process or in a daemon.

use std::collections::HashSet;

use toolcrib_agent::driver::DriveOutcome;
use toolcrib_agent::events::{Event, ToolState};
use toolcrib_agent::machine::RunEnd;
use toolcrib_core::ErrorType;

/// A run waits for a person, or a call was not decided in time.
const EXIT_WAITS: u8 = 6;
/// A call had no approver.
const EXIT_UNAPPROVED: u8 = 5;

/// Counts the calls of a run that change the exit code of its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExitCodeTally {
    /// Calls that were denied because no approver could be asked, those of scripts too; those that
    /// a person denied or skipped are not among them.
    pub unapproved: u32,
    /// Calls that were not decided in time.
    pub expired: u32,
    /// Calls that a person decided about.
    decided: HashSet<String>,
}

impl ExitCodeTally {
    /// Counts an event of a run in this process.
    pub fn record(&mut self, event: &Event) {
        let Event::Tool(tool) = event else { return };
        // Calls of a script have no events of their own.
        self.unapproved += tool.report.as_ref().map_or(0, |report| report.unapproved_children);
        let (state, error) = match &tool.state {
            ToolState::ApprovalResponded { .. } => ("approval-responded", None),
            ToolState::OutputDenied { error_type, .. } => ("output-denied", *error_type),
            _ => return,
        };
        let call = tool.call.map(|call| call.to_string());
        self.record_call(call.as_deref(), state, error);
    }

    /// Counts the state of a call, in the form of events and snapshots.
    pub fn record_call(&mut self, call: Option<&str>, state: &str, error: Option<ErrorType>) {
        match (state, error) {
            ("approval-responded", _) => self.decided.extend(call.map(str::to_owned)),
            ("output-denied", Some(ErrorType::ApprovalExpired)) => self.expired += 1,
            ("output-denied", Some(ErrorType::ApprovalDenied))
                if call.is_none_or(|call| !self.decided.contains(call)) =>
            {
                self.unapproved += 1;
            }
            _ => {}
        }
    }

    /// Returns the exit code of a command that ran this run. An answer without a call that had no
    /// approver is not a success.
    #[must_use]
    pub fn exit_code(&self, driven: &DriveOutcome) -> u8 {
        match driven {
            DriveOutcome::Paused(_) => EXIT_WAITS,
            DriveOutcome::Ended(end) => self.with_calls(end.exit_code()),
        }
    }

    /// Returns the exit code for a run that a daemon drives, from whether it waits and the `status`
    /// of its event or its snapshot.
    #[must_use]
    pub fn exit_code_of(&self, waits: bool, status: &str) -> u8 {
        if waits { EXIT_WAITS } else { self.with_calls(RunEnd::exit_code_of(status)) }
    }

    fn with_calls(&self, of_end: u8) -> u8 {
        match of_end {
            0 if self.expired > 0 => EXIT_WAITS,
            0 if self.unapproved > 0 => EXIT_UNAPPROVED,
            code => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_the_end_and_the_calls() {
        for (calls, status, expected) in [
            (&[][..], "completed", 0),
            (&[], "refused", 1),
            (&[], "budget_exceeded", 7),
            (&[], "stopped", 130),
            (&[("a", "output-denied", ErrorType::ApprovalDenied)], "completed", 5),
            (&[("a", "output-denied", ErrorType::ApprovalExpired)], "length", 6),
            (&[("a", "output-denied", ErrorType::PolicyDenied)], "completed", 0),
            (
                &[
                    ("a", "approval-responded", ErrorType::ApprovalDenied),
                    ("a", "output-denied", ErrorType::ApprovalDenied),
                ],
                "completed",
                0,
            ),
        ] {
            let mut tally = ExitCodeTally::default();
            for (call, state, error) in calls {
                tally.record_call(Some(call), state, Some(*error));
            }
            assert_eq!(tally.exit_code_of(false, status), expected, "{calls:?} {status}");
            assert_eq!(tally.exit_code_of(true, status), 6);
        }
    }
}
