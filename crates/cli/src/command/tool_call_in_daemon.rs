//! `toolcrib tool call --daemon`.

use serde::Deserialize as _;
use serde_json::{Value, json};
use toolcrib_core::{Block, ErrorType};
use toolcrib_ops::advice::RefusedCall;
use toolcrib_ops::calls::{CallDocument, CallState, serialized_name};

use crate::bootstrap;
use crate::clap_args::ToolCall;
use crate::command::{call_json, result_media};
use crate::daemon::client::{ApiRequest, Client, reject_workspace_args};
use crate::output::{self, Failure};

/// Runs one call in the daemon.
pub(super) fn run(command: &ToolCall, name: &str, args: String, json: bool) -> Result<u8, Failure> {
    reject_workspace_args(&command.workspace_args)?;
    bootstrap::block_on(async {
        let client = Client::connect_required().await?;
        let mut body = json!({"tool": name, "arguments": args});
        let context = [
            ("agent", &command.agent),
            ("conversation", &command.conversation),
            ("topic", &command.topic),
        ];
        for (field, value) in context {
            if let (Some(value), Some(body)) = (value, body.as_object_mut()) {
                body.insert(field.to_owned(), json!(value));
            }
        }
        if let (Some(tokens), Some(body)) = (command.max_tokens, body.as_object_mut()) {
            body.insert("max_tokens".to_owned(), json!(tokens));
        }
        let mut ask = ApiRequest::post("/api/v1/calls", &body);
        if let Some(key) = &command.idempotency_key {
            ask = ask.header("idempotency-key", key);
        }
        let reply = client.send(&ask).await?;
        let document = reply.json()?;
        // The daemon answers a failed call with its document, too, under the HTTP status of its
        // error.
        match CallDocument::deserialize(&document) {
            Ok(call) => print_call(&call, &document, json),
            Err(_) => Err(reply.to_failure()),
        }
    })
}

/// Prints the result of a call; returns its exit code. `document` is the JSON that `call` was
/// parsed from: `--json` prints it unchanged, with members that only a newer daemon has.
pub(super) fn print_call(call: &CallDocument, document: &Value, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&Value::Object(call_json::to_json(document)), true)?;
    } else {
        call.notes.iter().for_each(|note| output::eprint_line(&format!("toolcrib: {note}")));
    }
    let tool = call.tool.as_deref().unwrap_or(&call.asked);
    match call.status {
        CallState::Succeeded => {
            if !json {
                print_text(call.result.as_ref())?;
                // A block of a kind that only a newer daemon has is omitted.
                let blocks = call.blocks.iter().filter_map(|block| Block::deserialize(block).ok());
                result_media::print(&blocks.collect::<Vec<_>>())?;
                output::eprint_sanitized(call.flagged, &call.neutralised);
            }
            Ok(0)
        }
        CallState::Waiting => {
            let id = call.approval.as_ref().map(|approval| approval.id.as_str());
            let id = id.unwrap_or_default();
            let message =
                format!("{tool} waits for approval {id}; `toolcrib approve yes {id}` lets it run");
            Err(Failure { code: 6, message })
        }
        CallState::Running => {
            let id = &call.call;
            output::warn(
                &format!("{tool} works on; `toolcrib explain {id}` says how it ended"),
                json,
            );
            Ok(0)
        }
        state => {
            let error_type = call.error_type.as_deref().unwrap_or_default();
            let error = serde_json::from_value::<ErrorType>(json!(error_type)).ok();
            let code = error.map_or(1, ErrorType::exit_code);
            if !json {
                let unrecorded = call.unrecorded.as_ref().and_then(|end| end.get("result"));
                print_text(unrecorded)?;
                print_failure(call, state, error);
            }
            Ok(code)
        }
    }
}

/// Prints why a call failed, with the same text and advice as without a daemon.
fn print_failure(call: &CallDocument, state: CallState, error: Option<ErrorType>) {
    let message = call.reason.as_ref().or(call.message.as_ref()).filter(|text| !text.is_empty());
    let state = serialized_name(&state).unwrap_or_default();
    let error_type = error.map(|error| format!(" ({error})")).unwrap_or_default();
    let message = message.unwrap_or(&state);
    output::eprint_line(&format!("toolcrib: {message}{error_type}"));
    let Some(error) = error else { return };
    let refusal = call.refusal.as_ref();
    let refused = RefusedCall {
        error,
        tool: call.tool.as_deref().unwrap_or(&call.asked),
        operation: refusal.and_then(|refusal| refusal.operation.as_deref()),
        ruling: refusal.and_then(|refusal| refusal.ruling.as_ref()),
        obstacle: refusal.and_then(|refusal| refusal.obstacle.as_deref()),
    };
    if let Some(advice) = refused.advice() {
        output::eprint_line(&format!("toolcrib: {advice}"));
    }
}

/// Prints text unchanged, and data as JSON.
fn print_text(result: Option<&Value>) -> std::io::Result<()> {
    match result {
        Some(Value::String(text)) => output::print_line(text),
        Some(other) => output::print_json(other, false),
        None => Ok(()),
    }
}
