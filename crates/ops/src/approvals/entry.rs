//! A question with its stored rows.

use toolcrib_core::{ApprovalRequest, DecisionRecord};

use super::document::Approval;
use crate::context::StoreContext;

/// A question to a person.
#[derive(Debug, Clone)]
pub struct ApprovalEntry {
    /// The question as the caller may see it.
    pub document: Approval,
    /// The question as it is stored, with arguments; `None` for a caller that sees no payloads.
    pub request: Option<ApprovalRequest>,
    /// The decision as it is stored; `None` if there is none, or as above.
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
