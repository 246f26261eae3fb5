//! Calls that continue: after a decision, after their process ended, or because a caller sends them
//! again.
//!
//! - `record_decision`: records a decision once, together with the resulting grant.
//! - `pending_approvals`: the calls of this process that wait for a decision or were resumed by
//!   one, so that no call is in two pipelines.
//! - `decide_and_resume`: decides about a call and resumes it, and then its parent.
//! - `environment`: decides whether this process may run a stored call.
//! - `batch_before_decision`: the accepted batch under which a decided call runs.
//! - `interrupted_calls`: answers a batch that may have been sent before.
//! - `recorded`: looks up the record of a call.
//! - `expired`: the end of a call whose question expired without a decision.
//! - `recovery_result`: the calls and batches that a process takes over from dead ones.
//! - `resumed_call`: the decision with which a call enters the pipeline again.

pub(crate) mod batch_before_decision;
pub(crate) mod decide_and_resume;
pub(crate) mod environment;
pub(crate) mod expired;
pub(crate) mod interrupted_calls;
pub(crate) mod pending_approvals;
pub(crate) mod record_decision;
pub(crate) mod recorded;
pub(crate) mod recovery_result;
pub(crate) mod resumed_call;
