//! A question with its stored rows.

use toolcrib_core::{ApprovalRequest, DecisionRecord};

use super::document::Approval;
use crate::context::StoreContext;

/// A question to a person.
#[derive(Debug, Clone)]
pub struct ApprovalEntry {
    /// The question in the form that the caller may see.
    pub document: Approval,
    /// The stored question, with arguments; `None` for a caller that sees no payloads.
    pub request: Option<ApprovalRequest>,
    /// The stored decision; `None` if there is none, or if the caller sees no payloads.
    pub decision: Option<DecisionRecord>,
}

impl ApprovalEntry {
    pub(super) fn new(
        ctx: &StoreContext<'_>,
        request: ApprovalRequest,
        decision: Option<DecisionRecord>,
    ) -> Self {
        let document = Approval::new(&request, decision.as_ref(), ctx.shows_payloads);
        let request = Some(request).filter(|_| ctx.shows_payloads);
        Self { document, request, decision: decision.filter(|_| ctx.shows_payloads) }
    }
}
