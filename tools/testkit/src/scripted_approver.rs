//! An approver that answers from a list.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use toolcrib_core::{ApprovalRequest, Approver, ApproverReply, BoxFuture, Decision};

/// Answers questions in order and records them. With no answer left it replies
/// [`ApproverReply::Unavailable`].
#[derive(Default)]
pub struct ScriptedApprover {
    answers: Mutex<VecDeque<ApproverReply>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl ScriptedApprover {
    /// Answers with these, in order.
    pub fn new(answers: impl IntoIterator<Item = ApproverReply>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }

    /// Answers with these decisions of "ann", in order.
    pub fn deciding(decisions: impl IntoIterator<Item = Decision>) -> Self {
        Self::new(
            decisions
                .into_iter()
                .map(|decision| ApproverReply::Decided { decision, by: "ann".into() }),
        )
    }

    /// Approves `times` calls, each for itself only.
    #[must_use]
    pub fn approving(times: usize) -> Self {
        Self::deciding((0..times).map(|_| Decision::approve()))
    }

    /// What it was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<ApprovalRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Approver for ScriptedApprover {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(std::future::ready(next.unwrap_or(ApproverReply::Unavailable)))
    }
}
