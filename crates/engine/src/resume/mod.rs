//! Calls that continue: after a decision, after their process ended, or because a caller sends them
//! again.
//!
//! - `record_decision`: records a decision, once, with the grant that follows from it.
//! - `pending_approvals`: the calls of this process that wait for a decision or were resumed by
//!   one, so that no call is in two pipelines.
//! - `decide_and_resume`: decides about a call and resumes it, and then the call that made it.
//! - `environment`: whether this process may carry out a stored call.
//! - `promise`: the accepted batch that a decided call is carried out under.
//! - `interrupted_calls`: answers a batch that may have been sent before.
//! - `recorded`: what the store knows of a call.
//! - `expired`: the end of a call about which no decision came in time.
//! - `recovery_result`: what a process takes over from dead ones.
//! - `resumed_call`: the decision that a call enters the pipeline again with.

pub(crate) mod decide_and_resume;
pub(crate) mod environment;
pub(crate) mod expired;
pub(crate) mod interrupted_calls;
pub(crate) mod pending_approvals;
pub(crate) mod promise;
pub(crate) mod record_decision;
pub(crate) mod recorded;
pub(crate) mod recovery_result;
pub(crate) mod resumed_call;
