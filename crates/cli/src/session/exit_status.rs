//! Counts events of a run that determine the exit code.

use std::collections::HashSet;

use toolcrib_agent::driver::DriveOutcome;
use toolcrib_agent::events::{Event, ToolState};
use toolcrib_core::{CallId, ErrorType};

/// Counts of events that the end of a run does not report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunTally {
    /// Calls that were denied because no approver could be asked, including those of scripts, but
    /// without those that a person denied or skipped.
    pub(crate) unapproved: u32,
    /// Calls that were not decided in time.
    pub(crate) expired: u32,
    /// Calls that a person decided.
    decided: HashSet<CallId>,
}

impl RunTally {
    /// Records one event.
    pub(crate) fn record(&mut self, event: &Event) {
        let Event::Tool(tool) = event else { return };
        // Child calls of a script have no events.
        self.unapproved += tool.report.as_ref().map_or(0, |report| report.unapproved_children);
        match &tool.state {
            ToolState::ApprovalResponded { .. } => self.decided.extend(tool.call),
            ToolState::OutputDenied { error_type: Some(ErrorType::ApprovalExpired), .. } => {
                self.expired += 1;
            }
            ToolState::OutputDenied { error_type: Some(ErrorType::ApprovalDenied), .. }
                if tool.call.is_none_or(|call| !self.decided.contains(&call)) =>
            {
                self.unapproved += 1;
            }
            _ => {}
        }
    }

    /// Returns the exit code of the command. An answer does not count as a success if a call had no
    /// approver.
    pub(crate) fn exit_code(&self, driven: &DriveOutcome) -> u8 {
        match driven {
            DriveOutcome::Paused(_) => 6,
            DriveOutcome::Ended(end) => match end.exit_code() {
                0 if self.expired > 0 => 6,
                0 if self.unapproved > 0 => 5,
                code => code,
            },
        }
    }
}
