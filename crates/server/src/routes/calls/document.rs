//! The HTTP responses about a call.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use toolcrib_core::{Answer, CallId, ErrorType};
use toolcrib_ops::calls::{CallDocument, CallState};

use crate::api::{Json, Operation};
use crate::problem::{Code, Problem};

/// Responds to the caller of one call with its document and the HTTP status of its outcome.
pub(crate) fn answer_response(answer: Answer) -> Response {
    let status = match &answer {
        Answer::Suspended(_) => 202,
        Answer::Done(outcome) => outcome.error_type().map_or(200, |why| why.http_status()),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(CallDocument::from(answer))).into_response()
}

/// Responds that a call was accepted and continues.
pub(crate) fn accepted_response(call: CallId, asked: &str) -> Response {
    let document = CallDocument::with_status_only(call, asked, CallState::Running);
    (StatusCode::ACCEPTED, Json(document)).into_response()
}

/// Returns the problem of a missing answer, which the engine never causes: it gives one answer for
/// each call.
pub(crate) fn no_answer() -> Problem {
    Problem::new(Code::Internal, "the engine gave no answer; look whether the call took effect")
}

/// Documents every status that the outcome of one call may have.
pub(crate) fn document_status_codes(operation: Operation) -> Operation {
    document_failures(
        operation.returns::<CallDocument>(200, "The call has ended; this is its result."),
    )
}

/// Documents the failures of an operation that returns a successful result in another form.
pub(crate) fn document_failures(operation: Operation) -> Operation {
    let waits = "The call waits for a person or is still running; get it by its id.";
    let mut statuses: Vec<u16> = ErrorType::ALL.iter().map(|why| why.http_status()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    statuses.into_iter().fold(operation.returns::<CallDocument>(202, waits), |operation, status| {
        operation
            .returns::<CallDocument>(status, "There is no result; `error_type` has the reason.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{Outcome, Report, ToolError};

    fn failed(why: ErrorType) -> Outcome {
        Outcome {
            call: CallId::fresh(),
            asked: "t".into(),
            tool: None,
            kind: why.outcome(),
            result: Err(ToolError::new(why, "Words.")),
            notes: vec!["a note".into()],
            report: Report::default(),
            unrecorded: None,
        }
    }

    #[test]
    fn the_status_of_a_failure_is_that_of_the_table() {
        for why in ErrorType::ALL {
            let outcome = failed(*why);
            let document = CallDocument::from(outcome.clone());
            assert_eq!(document.error_type.as_deref(), Some(why.as_str()));
            assert_eq!(document.status, why.outcome().into());
            let response = answer_response(Answer::Done(Box::new(outcome)));
            assert_eq!(response.status().as_u16(), why.http_status(), "{why}");
        }
    }
}
