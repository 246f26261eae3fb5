//! The failures of decisions that are not stored.

use toolcrib_core::invoker::DecideError;
use toolcrib_core::{ApprovalRequest, DecisionRecord};

use super::document::decision;
use crate::error::{OpError, Resource};

/// Returns the failure of a second decision: the first one stands, and its document is in the facts
/// of the failure.
#[must_use]
pub fn decided_before(
    request: &ApprovalRequest,
    first: &DecisionRecord,
    shows_payloads: bool,
) -> OpError {
    if first.is_expiry() {
        return expired(request);
    }
    let words = format!("it was decided before, by {}", first.decided_by);
    OpError::Conflict(words).with_facts(decision(first, shows_payloads))
}

fn expired(request: &ApprovalRequest) -> OpError {
    OpError::Gone(format!("{} was not decided in time, so it was not run", request.id))
}

/// Returns the failure of a decision that was not stored.
#[must_use]
pub fn not_decided(request: &ApprovalRequest, error: DecideError, shows_payloads: bool) -> OpError {
    match error {
        DecideError::Expired => expired(request),
        DecideError::NotFound => OpError::not_found(Resource::Approval, request.id),
        DecideError::WrongKind => OpError::Invalid(error.to_string()),
        DecideError::KeepsMask => OpError::Denied(error.to_string()),
        DecideError::AlreadyDecided(first) => decided_before(request, &first, shows_payloads),
        DecideError::Undecided | DecideError::OtherEnvironment(_) => {
            OpError::Conflict(error.to_string())
        }
        DecideError::Store(_) => {
            tracing::error!(%error, "a decision could not be stored");
            let words = "the decision could not be stored, so it does not count";
            OpError::Unavailable(words.to_owned())
        }
    }
}
