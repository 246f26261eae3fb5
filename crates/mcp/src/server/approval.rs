//! Asks the person at the MCP client to approve a call.

use std::collections::BTreeMap;

use rmcp::model::{ElicitRequest, ElicitRequestParams, InputRequest};
use serde_json::{Value, json};
use toolcrib_core::display_text::{escape_controls, escape_to_line};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{Answer, ApprovalRequest, Decision, DecisionRecord, ToolError};

use super::{ClientIdentity, McpBackend};
use crate::client_channel::{AskError, ClientChannel};

/// Key of the single question.
const KEY: &str = "approval";
/// Text for a client whose person is not asked.
pub(super) const MAY_NOT_DECIDE: &str = "this client was not asked, because its token may not decide: that takes the role `approver`, and another person where four eyes are wanted";
/// Characters of arguments that are shown.
const SHOWN: usize = 2000;

/// Asks the person at the client, if they may decide, and continues the call with their decision.
/// Without an answer the call stays in the inbox, or is denied if there is no inbox.
pub(super) async fn settle(
    backend: &dyn McpBackend,
    who: &ClientIdentity,
    caller: &ClientChannel,
    request: Box<ApprovalRequest>,
) -> Result<Answer, ToolError> {
    let asked = if backend.may_decide(who) { ask(caller, &request).await } else { Ok(None) };
    let decision = match asked {
        Ok(Some(decision)) => decision,
        _ if backend.has_inbox() => return Ok(Answer::Suspended(request)),
        _ if !backend.may_decide(who) => Decision::Deny { note: Some(MAY_NOT_DECIDE.to_owned()) },
        _ => Decision::Deny { note: Some("There was no answer to the question.".to_owned()) },
    };
    let decided_by = format!("the person at {}", who.name);
    let record = DecisionRecord { decision, decided_by, decided_at: 0 };
    match backend.decide(request.id, record).await {
        Ok(Some(answer)) => Ok(answer),
        // Another process continues it, or it waits in the inbox.
        Ok(None) | Err(DecideError::AlreadyDecided(_)) => Ok(Answer::Suspended(request)),
        Err(error) => Err(ToolError::execution(format!(
            "The decision could not be taken ({error}), so the call did not run."
        ))),
    }
}

/// Returns `None` if the person gave no answer.
async fn ask(
    caller: &ClientChannel,
    request: &ApprovalRequest,
) -> Result<Option<Decision>, AskError> {
    let params = question(request).ok_or(AskError::Unable)?;
    let question = InputRequest::Elicitation(ElicitRequest::new(params));
    let mut answers = caller.ask(BTreeMap::from([(KEY.to_owned(), question)])).await?;
    Ok(answers.remove(KEY).and_then(|answer| decision(&answer)))
}

fn question(request: &ApprovalRequest) -> Option<ElicitRequestParams> {
    let message = message(request);
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string",
                "title": "Decision",
                "enum": ["approve", "deny"],
                "enumNames": ["Run it once", "Do not run it"],
            },
            "note": {"type": "string", "title": "Words for the model", "maxLength": 500},
        },
        "required": ["decision"],
    });
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    serde_json::from_value(params).ok()
}

/// Renders the question. Each line of ours contains one text of a tool or a model, escaped.
fn message(request: &ApprovalRequest) -> String {
    let why: Vec<&str> = request.reasons.iter().map(|reason| reason.text.as_str()).collect();
    format!(
        "May {} run? {}\n\nWhy you are asked: {}\nArguments: {}",
        escape_to_line(&request.operation),
        escape_to_line(&request.summary),
        escape_to_line(&why.join("; ")),
        shown_args(&request.args)
    )
}

/// Renders the arguments as JSON, whose strings contain no line breaks. A note marks arguments that
/// are too long, because a person must not approve hidden arguments.
fn shown_args(args: &Value) -> String {
    let whole = format!("{args:#}");
    let whole = escape_controls(&whole);
    let Some((end, _)) = whole.char_indices().nth(SHOWN) else { return whole.into_owned() };
    let (shown, hidden) = whole.split_at_checked(end).unwrap_or((&*whole, ""));
    let hidden = hidden.chars().count();
    format!(
        "{shown}\n(the last {hidden} characters of the arguments are not shown here; deny it, or decide with `toolcrib approve`, which shows them all)"
    )
}

/// Parses the decision. Only an explicit yes approves a call.
fn decision(answer: &Value) -> Option<Decision> {
    let note = || answer["content"]["note"].as_str().map(str::to_owned);
    match answer["action"].as_str()? {
        "accept" if answer["content"]["decision"] == "approve" => Some(Decision::approve()),
        "accept" | "decline" => Some(Decision::Deny { note: note() }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_runs_a_call() {
        let denied = |note: Option<&str>| Some(Decision::Deny { note: note.map(str::to_owned) });
        for (answer, expected) in [
            (
                json!({"action": "accept", "content": {"decision": "approve"}}),
                Some(Decision::approve()),
            ),
            (
                json!({"action": "accept", "content": {"decision": "deny", "note": "no"}}),
                denied(Some("no")),
            ),
            (json!({"action": "accept"}), denied(None)),
            (json!({"action": "accept", "content": {"decision": "Approve"}}), denied(None)),
            (json!({"action": "decline"}), denied(None)),
            (json!({"action": "cancel"}), None),
            (json!("approve"), None),
        ] {
            assert_eq!(decision(&answer), expected, "{answer}");
        }
    }
}
