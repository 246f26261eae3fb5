//! Checks whether a decision may be made about a question, before it is stored.

use toolcrib_core::{ApprovalRequest, Decision};

use super::nonce;
use crate::error::OpError;
use crate::person::Person;

/// A decision that is about to be stored.
#[derive(Debug, Clone, Copy)]
pub struct CheckDecisionRequest<'a> {
    /// The stored question.
    pub question: &'a ApprovalRequest,
    /// The decision.
    pub decision: &'a Decision,
    /// The nonce of the question that the person saw; `None` if it was just read from the store.
    pub seen: Option<&'a str>,
    /// The person who decides.
    pub person: Person<'a>,
    /// Whether the requesting person may not decide (`server.four_eyes`).
    pub four_eyes: bool,
}

/// Checks that the decision concerns the version that the person saw, that another person made the
/// request if four eyes are required, and that the decision fits the kind of the question.
///
/// # Errors
/// [`OpError::Conflict`], [`OpError::Denied`] and [`OpError::Invalid`] in this order.
pub fn check_decision(request: CheckDecisionRequest<'_>) -> Result<(), OpError> {
    let CheckDecisionRequest { question, decision, seen, person, four_eyes } = request;
    if seen.is_some_and(|seen| seen != nonce(question)) {
        return Err(OpError::Conflict(
            "the nonce is not that of this question: what was seen is not what waits here; read it again"
                .to_owned(),
        ));
    }
    if four_eyes && person == Person::of_record(&question.context.device) {
        return Err(OpError::Denied(
            "this call was asked for by the same person, and four_eyes is set: another person has to decide, with a token of their own"
                .to_owned(),
        ));
    }
    if !decision.matches_kind(question) {
        let what = match question.question {
            Some(_) => "this is a question of the model: answer or skip it",
            None => "this is a call: approve, edit, deny or skip it",
        };
        return Err(OpError::Invalid(what.to_owned()));
    }
    Ok(())
}
