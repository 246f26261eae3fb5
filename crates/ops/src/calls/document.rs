//! A call with its state and its result.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use toolcrib_core::{
    Answer, ApprovalRequest, CallId, CallRow, ModelResult, Obstacle, Outcome, Ruling, Verdict,
};

use super::state::CallState;

/// A call with its status and outcome. An absent field is unknown or does not apply; viewers do not
/// see arguments and results.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CallDocument {
    /// Its id.
    pub call: String,
    /// Its status.
    pub status: CallState,
    /// Canonical name of the tool, if the tool exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The requested name.
    pub asked: String,
    /// The result as a model reads it: text or JSON, sanitized and bounded.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub result: Option<Value>,
    /// The tool's own data, if it is small enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Images and audio in base64, and content for people such as cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Value>,
    /// Type of the error, from the closed list in docs/errors.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The error in words, with instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `message` without its instructions to a model, for people; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The obstacle that kept the call from running, if the owner can remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<CallRefusal>,
    /// The artifact with the complete result, if the text is only a part of it: `GET
    /// /artifacts/{ref}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// Origin of the result's text: `tool`, `workspace` or `external`. The author of `external`
    /// text is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    /// Source of the result: a path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Isolation of the program that the tool ran, if it ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Whether the result contains text that reads like instructions to a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flagged: bool,
    /// The changes of the sanitizer to the result, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neutralised: Vec<String>,
    /// Notes for the caller on its arguments: repairs and unknown parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The result of a tool whose outcome could not be recorded (`not_recorded`): `outcome` gives
    /// the outcome, the other fields are as a model reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<Value>,
    /// The question that a person has to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<PendingApproval>,
    /// Number of attempts that were started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Milliseconds that the tool ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
}

/// The obstacle that kept a call from running. A client can derive the remedy from it, as the
/// command line does.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CallRefusal {
    /// The operation that policy names, such as `http_request.post`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The decision of policy, with the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub ruling: Option<Ruling>,
    /// An address that the owner may open, or why the tool is not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub obstacle: Option<Box<Obstacle>>,
}

/// The question for which a call waits: `POST /approvals/{id}` decides.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PendingApproval {
    /// Id of the question.
    pub id: String,
    /// One line that describes what will happen.
    pub summary: String,
    /// The reasons for asking a person.
    pub reasons: Vec<String>,
    /// Milliseconds since 1970 after which it counts as not approved; absent = it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl From<&ApprovalRequest> for PendingApproval {
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
    /// Creates the document of a call of which only the status is known.
    pub fn with_status_only(call: CallId, asked: impl Into<String>, status: CallState) -> Self {
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
            reason: None,
            refusal: None,
            artifact: None,
            trust: None,
            source: None,
            sandbox: None,
            flagged: false,
            neutralised: Vec::new(),
            notes: Vec::new(),
            unrecorded: None,
            approval: None,
            attempts: None,
            duration_ms: None,
        }
    }

    /// Creates the document of a call that waits for a person.
    pub fn waiting(request: &ApprovalRequest) -> Self {
        let tool = request.tool.to_string();
        let approval = Some(PendingApproval::from(request));
        let bare = Self::with_status_only(request.call, tool.clone(), CallState::Waiting);
        Self { tool: Some(tool), approval, ..bare }
    }

    /// Creates the document of a call with a row and without a result.
    pub fn from_row(row: &CallRow) -> Self {
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
            ..Self::with_status_only(row.facts.call, asked, status)
        }
    }

    /// Removes the fields that the caller may not see: arguments and results.
    pub fn without_payloads(self) -> Self {
        let unsaid =
            |awaits| PendingApproval { summary: String::new(), reasons: Vec::new(), ..awaits };
        let approval = self.approval.map(unsaid);
        Self {
            result: None,
            structured: None,
            blocks: Vec::new(),
            message: None,
            reason: None,
            refusal: None,
            source: None,
            notes: Vec::new(),
            unrecorded: None,
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
            sandbox: result.sandbox,
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
            unrecorded: outcome.unrecorded.as_ref().map(|end| end.to_wire()),
            ..Self::with_status_only(outcome.call, outcome.asked, outcome.kind.into())
        };
        let (operation, ruling) = (outcome.report.operation, outcome.report.ruling);
        let ruling = ruling.filter(|ruling| ruling.verdict != Verdict::Allow);
        match outcome.result {
            Ok(result) => bare.with_result(result),
            Err(error) => {
                let obstacle = error.obstacle;
                let is_refused = ruling.is_some() || obstacle.is_some();
                Self {
                    message: Some(error.message),
                    reason: error.for_people,
                    refusal: is_refused.then_some(CallRefusal { operation, ruling, obstacle }),
                    ..bare
                }
            }
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

/// Deserializes a member that is null as present, unlike a missing one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{ErrorType, Report, ToolError};

    #[test]
    fn a_document_without_payloads_has_no_texts_of_the_call() {
        let why = ErrorType::Timeout;
        let outcome = Outcome {
            call: CallId::fresh(),
            asked: "t".into(),
            tool: None,
            kind: why.outcome(),
            result: Err(ToolError::new(why, "Words.")),
            notes: vec!["a note".into()],
            report: Report::default(),
            unrecorded: None,
        };
        let document = CallDocument::from(outcome).without_payloads();
        let shown = serde_json::to_value(&document).unwrap();
        assert_eq!(shown.get("message"), None);
        assert_eq!(shown.get("notes"), None);
        assert_eq!(shown["error_type"], "timeout");
    }
}
