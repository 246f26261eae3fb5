//! Operations on questions to people and on their decisions.

mod check;
mod continuation;
mod decide_body;
mod decision_reply;
mod document;
mod entry;
mod hasty;
mod list;
mod refusal;
mod resolve;
mod sandbox;
mod show;

pub use check::{CheckDecisionRequest, check_decision};
pub use continuation::{Continuation, continuation};
pub use decide_body::{DecideBody, DecisionKind, GrantScopeName, may_run};
pub use decision_reply::{ContinuedBy, DecisionReply};
pub use document::{Approval, decision, nonce};
pub use entry::ApprovalEntry;
pub use hasty::{DAYS, HASTY_MS, HastyApprovals, REPORTED_FROM, hasty_approvals};
pub use list::{ListApprovalsRequest, list};
pub use refusal::{decided_before, not_decided};
pub use resolve::{known_ids, resolve_approval};
pub use sandbox::sandbox_level;
pub use show::{
    ApprovalDetails, EarlierDecision, ShowApprovalReply, ShowApprovalRequest, find, show,
};
