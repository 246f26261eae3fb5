//! Operations on decisions of people.

mod decision_reply;
mod hasty;

pub use decision_reply::{ContinuedBy, DecisionReply};
pub use hasty::{DAYS, HASTY_MS, HastyApprovals, REPORTED_FROM, hasty_approvals};
