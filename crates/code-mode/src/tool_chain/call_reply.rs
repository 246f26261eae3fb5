//! Converts the outcome of a call to the reply for the script.

use serde_json::Value;
use toolcrib_core::{Block, CallCtx, ErrorType, ModelResult, Outcome};

use super::script_limits::INLINE_BYTES;
use crate::worker_protocol::{ErrorKind, Reply, head};

/// Maximum number of characters shown of a stored result.
const PREVIEW: usize = 4096;

/// Converts an outcome to the reply.
pub(super) fn reply(ctx: &CallCtx, tool: &str, outcome: Outcome) -> Reply {
    match outcome.result {
        Ok(result) if result.is_error => {
            let text = format!("Tool '{tool}' failed: {}", result_text(&result));
            Reply::Raise { kind: ErrorKind::Error, text }
        }
        Ok(result) => reply_from_result(ctx, result),
        Err(error) => {
            let message = &error.message;
            let (kind, text) = match error.error_type {
                ErrorType::ApprovalDenied | ErrorType::ApprovalExpired => {
                    (ErrorKind::Denied, format!("Approval denied for tool '{tool}'. {message}"))
                }
                ErrorType::PermissionDenied | ErrorType::PolicyDenied => {
                    (ErrorKind::Denied, message.clone())
                }
                ErrorType::Timeout => (ErrorKind::TimedOut, format!("Tool '{tool}': {message}")),
                ErrorType::ValidationError => (ErrorKind::Arguments, message.clone()),
                _ => match &outcome.unrecorded {
                    None => (ErrorKind::Error, message.clone()),
                    Some(end) => {
                        let text = format!("{message} `unrecorded`: {}", end.to_wire());
                        (ErrorKind::Error, text)
                    }
                },
            };
            Reply::Raise { kind, text }
        }
    }
}

/// Returns the text of a result as a model would read it; data as JSON.
fn result_text(result: &ModelResult) -> String {
    match &result.result {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        data => data.to_string(),
    }
}

fn reply_from_result(ctx: &CallCtx, result: ModelResult) -> Reply {
    let text = result_text(&result);
    let media = result.media.iter().filter_map(|block| store_media(ctx, block)).collect();
    let structured = result.structured.as_ref().map(Value::to_string);
    let bytes = text.len() + structured.as_ref().map_or(0, String::len);
    if bytes <= INLINE_BYTES && result.artifact.is_none() {
        return Reply::Result { text, data: result.structured, reference: None, media };
    }
    let reference = match (result.artifact, &structured) {
        (Some(artifact), _) => Some(artifact.0),
        (None, Some(data)) => store_artifact(ctx, "application/json", data.as_bytes()),
        (None, None) => store_artifact(ctx, "text/plain", text.as_bytes()),
    };
    let preview = match text.char_indices().nth(PREVIEW) {
        Some((end, _)) => format!("{}…", head(&text, end)),
        None => text,
    };
    Reply::Result { text: preview, data: None, reference, media }
}

fn store_media(ctx: &CallCtx, block: &Block) -> Option<String> {
    match block {
        Block::Image(blob) | Block::Audio(blob) => {
            store_artifact(ctx, &blob.media_type, &blob.data)
        }
        _ => None,
    }
}

/// Stores bytes as an artifact; returns its reference if that succeeds.
pub(super) fn store_artifact(ctx: &CallCtx, media_type: &str, bytes: &[u8]) -> Option<String> {
    let mut stream = ctx.stream(media_type);
    stream.write(bytes);
    match stream.finish() {
        Block::Spilled { artifact, .. } => artifact.map(|artifact| artifact.0),
        _ => None,
    }
}
