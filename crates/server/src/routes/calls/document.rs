//! A call as the API shows it: where it stands, and what came of it.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::{
    Answer, ApprovalRequest, CallId, CallRow, ErrorType, ModelResult, Outcome, OutcomeKind,
};

use crate::api::{Json, Operation};
use crate::problem::{Code, Problem};

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallState {
    /// It was taken and has not ended.
    Running,
    /// A person has to decide about it.
    Waiting,
    /// The tool ran and answered.
    Succeeded,
    /// The tool, or the way to it, failed.
    Failed,
    /// Its time ran out.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
    /// Policy, a switch, a budget or a person said no.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// It was started, and nobody knows whether it finished.
    Unknown,
}

impl From<OutcomeKind> for CallState {
    fn from(kind: OutcomeKind) -> Self {
        match kind {
            OutcomeKind::Succeeded => Self::Succeeded,
            OutcomeKind::Failed => Self::Failed,
            OutcomeKind::TimedOut => Self::TimedOut,
            OutcomeKind::Cancelled => Self::Cancelled,
            OutcomeKind::Denied => Self::Denied,
            OutcomeKind::Expired => Self::Expired,
            OutcomeKind::Unknown => Self::Unknown,
        }
    }
}

/// A call: where it stands, and what came of it. What is not there is not known or does not apply; a token that only looks is not shown
/// arguments and results.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CallDocument {
    /// Its id.
    pub(crate) call: String,
    /// Where it stands.
    pub(crate) status: CallState,
    /// Canonical name of the tool, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// The name as it was asked for.
    pub(crate) asked: String,
    /// What came out, as a model reads it: text or JSON, harmless and bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
    /// The tool's own data, where it is small enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) structured: Option<Value>,
    /// Pictures and sounds, base64 inside, and parts for people such as cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) blocks: Vec<Value>,
    /// Why it failed: a word of the closed list in docs/errors.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_type: Option<String>,
    /// The same in words that say what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The whole result, when the text is only a part of it: `GET /artifacts/{ref}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact: Option<String>,
    /// Whose words the result is: `tool`, `workspace` or `external`. What is `external` anybody may have written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) trust: Option<String>,
    /// Where they come from: a path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// Whether the result reads like orders to a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) flagged: bool,
    /// What of the result was made harmless, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) neutralised: Vec<String>,
    /// What the caller should know of its arguments: repairs and unknown parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// The question that a person has to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<Awaits>,
    /// Attempts that were started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attempts: Option<u32>,
    /// Milliseconds that the tool ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<f64>,
}

/// What a call waits for: `POST /approvals/{id}` decides.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Awaits {
    /// Id of the question.
    pub(crate) id: String,
    /// One line that says what will happen.
    pub(crate) summary: String,
    /// Why a person is asked.
    pub(crate) reasons: Vec<String>,
    /// Milliseconds since 1970 after which it counts as not approved; absent = it waits as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<i64>,
}

impl From<&ApprovalRequest> for Awaits {
    fn from(request: &ApprovalRequest) -> Self {
        Self {
            id: request.id.to_string(),
            summary: request.summary.clone(),
            reasons: request.reasons.iter().map(|reason| reason.text.clone()).collect(),
            expires_at: request.expires_at,
        }
    }
}

impl CallDocument {
    /// A call of which nothing more is known.
    pub(crate) fn bare(call: CallId, asked: impl Into<String>, status: CallState) -> Self {
        Self {
            call: call.to_string(),
            status,
            tool: None,
            asked: asked.into(),
            result: None,
            structured: None,
            blocks: Vec::new(),
            error_type: None,
            message: None,
            artifact: None,
            trust: None,
            source: None,
            flagged: false,
            neutralised: Vec::new(),
            notes: Vec::new(),
            approval: None,
            attempts: None,
            duration_ms: None,
        }
    }

    /// One that waits for a person.
    pub(crate) fn waiting(request: &ApprovalRequest) -> Self {
        let tool = request.tool.to_string();
        let approval = Some(Awaits::from(request));
        let bare = Self::bare(request.call, tool.clone(), CallState::Waiting);
        Self { tool: Some(tool), approval, ..bare }
    }

    /// One of which the row is known and no result.
    pub(crate) fn of_row(row: &CallRow) -> Self {
        let tool = row.facts.tool.as_ref().map(ToString::to_string);
        let asked = row.facts.asked.clone().or_else(|| tool.clone()).unwrap_or_default();
        let end = row.end.as_ref();
        let status = end.map_or(CallState::Running, |end| end.outcome.into());
        Self {
            tool,
            error_type: end.and_then(|end| end.error_type).map(|why| why.as_str().to_owned()),
            message: end.and_then(|end| end.message.clone()),
            attempts: end.map(|end| end.attempts),
            duration_ms: end.filter(|end| end.attempts > 0).map(|end| millis(end.run_nanos)),
            ..Self::bare(row.facts.call, asked, status)
        }
    }

    /// The same for somebody who is not shown what goes in and what comes out.
    pub(crate) fn without_payloads(self) -> Self {
        let unsaid = |awaits| Awaits { summary: String::new(), reasons: Vec::new(), ..awaits };
        let approval = self.approval.map(unsaid);
        Self {
            result: None,
            structured: None,
            blocks: Vec::new(),
            message: None,
            source: None,
            notes: Vec::new(),
            approval,
            ..self
        }
    }

    fn with_result(self, result: ModelResult) -> Self {
        let failed = result.is_error;
        let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self {
            message: failed.then(|| words(&result.result)),
            result: Some(result.result),
            structured: result.structured,
            blocks: result.media.into_iter().chain(result.for_people).map(|b| json!(b)).collect(),
            artifact: result.artifact.map(|artifact| artifact.0),
            trust: json!(result.trust).as_str().map(str::to_owned),
            source: result.source,
            flagged: result.flagged,
            neutralised: result.changes,
            ..self
        }
    }
}

impl From<Outcome> for CallDocument {
    fn from(outcome: Outcome) -> Self {
        let error_type = outcome.error_type().map(|why| why.as_str().to_owned());
        let report = &outcome.report;
        let bare = Self {
            tool: outcome.tool.as_ref().map(ToString::to_string),
            error_type,
            attempts: Some(report.attempts),
            duration_ms: (report.attempts > 0).then(|| millis(report.run_nanos)),
            notes: outcome.notes,
            ..Self::bare(outcome.call, outcome.asked, outcome.kind.into())
        };
        match outcome.result {
            Ok(result) => bare.with_result(result),
            Err(error) => Self { message: Some(error.message), ..bare },
        }
    }
}

impl From<Answer> for CallDocument {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Done(outcome) => (*outcome).into(),
            Answer::Suspended(request) => Self::waiting(&request),
        }
    }
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// The answer to whoever made one call: its document, with the HTTP status of what became of it (DESIGN 9, Outcomes and errors).
pub(crate) fn answer(answer: Answer) -> Response {
    let status = match &answer {
        Answer::Suspended(_) => 202,
        Answer::Done(outcome) => outcome.error_type().map_or(200, |why| why.http_status()),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(CallDocument::from(answer))).into_response()
}

/// The answer about a call that was taken and goes on.
pub(crate) fn goes_on(call: CallId, asked: &str) -> Response {
    let document = CallDocument::bare(call, asked, CallState::Running);
    (StatusCode::ACCEPTED, Json(document)).into_response()
}

/// The door gives one answer for each call.
pub(crate) fn no_answer() -> Problem {
    Problem::new(Code::Internal, "the door gave no answer; look whether the call took effect")
}

/// An operation that answers with what became of one call: every status that this may have is said.
pub(crate) fn told_by_status(operation: Operation) -> Operation {
    or_failure(operation.answers::<CallDocument>(200, "It ran, and this is its result."))
}

/// The same of one that shows a result in its own way.
pub(crate) fn or_failure(operation: Operation) -> Operation {
    let waits = "It waits for a person, or goes on: ask for it by its id.";
    let mut statuses: Vec<u16> = ErrorType::ALL.iter().map(|why| why.http_status()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    statuses.into_iter().fold(operation.answers::<CallDocument>(202, waits), |operation, status| {
        operation.answers::<CallDocument>(status, "It has no result; `error_type` says why.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_app::core::{Report, ToolError};

    fn failed(why: ErrorType) -> Outcome {
        Outcome {
            call: CallId::fresh(),
            asked: "t".into(),
            tool: None,
            kind: why.outcome(),
            result: Err(ToolError::new(why, "Words.")),
            notes: vec!["a note".into()],
            report: Report::default(),
        }
    }

    #[test]
    fn the_status_of_a_failure_is_that_of_the_table() {
        for why in ErrorType::ALL {
            let outcome = failed(*why);
            let document = CallDocument::from(outcome.clone());
            assert_eq!(document.error_type.as_deref(), Some(why.as_str()));
            assert_eq!(document.status, why.outcome().into());
            let response = answer(Answer::Done(Box::new(outcome)));
            assert_eq!(response.status().as_u16(), why.http_status(), "{why}");
        }
    }

    #[test]
    fn whoever_only_looks_sees_no_words_of_a_call() {
        let document = CallDocument::from(failed(ErrorType::Timeout)).without_payloads();
        let shown = serde_json::to_value(&document).unwrap();
        assert_eq!(shown.get("message"), None);
        assert_eq!(shown.get("notes"), None);
        assert_eq!(shown["error_type"], "timeout");
    }
}
