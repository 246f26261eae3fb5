//! What a script is told of a call.

use serde_json::Value;
use toolcrib_core::{Block, CallCtx, ErrorType, ModelResult, Outcome};

use super::policy::INLINE_BYTES;
use crate::protocol::{Kind, Reply, head};

/// Characters of what is shown of a result that is stored (SPEC 4.3).
const PREVIEW: usize = 4096;

/// The reply for an outcome.
pub(super) fn reply(ctx: &CallCtx, tool: &str, outcome: Outcome) -> Reply {
    match outcome.result {
        Ok(result) if result.is_error => {
            let text = format!("Tool '{tool}' failed: {}", words(&result));
            Reply::Raise { kind: Kind::Error, text }
        }
        Ok(result) => of_result(ctx, result),
        Err(error) => {
            let message = &error.message;
            let (kind, text) = match error.error_type {
                ErrorType::ApprovalDenied | ErrorType::ApprovalExpired => {
                    (Kind::Denied, format!("Approval denied for tool '{tool}'. {message}"))
                }
                ErrorType::PermissionDenied | ErrorType::PolicyDenied => {
                    (Kind::Denied, message.clone())
                }
                ErrorType::Timeout => (Kind::TimedOut, format!("Tool '{tool}': {message}")),
                ErrorType::ValidationError => (Kind::Arguments, message.clone()),
                _ => (Kind::Error, message.clone()),
            };
            Reply::Raise { kind, text }
        }
    }
}

/// The text of a result: what a model would read, JSON as JSON.
fn words(result: &ModelResult) -> String {
    match &result.result {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        data => data.to_string(),
    }
}

fn of_result(ctx: &CallCtx, result: ModelResult) -> Reply {
    let text = words(&result);
    let media = result.media.iter().filter_map(|block| stored_media(ctx, block)).collect();
    let structured = result.structured.as_ref().map(Value::to_string);
    let bytes = text.len() + structured.as_ref().map_or(0, String::len);
    if bytes <= INLINE_BYTES && result.artifact.is_none() {
        return Reply::Result { text, data: result.structured, reference: None, media };
    }
    let reference = match (result.artifact, &structured) {
        (Some(artifact), _) => Some(artifact.0),
        (None, Some(data)) => stored(ctx, "application/json", data.as_bytes()),
        (None, None) => stored(ctx, "text/plain", text.as_bytes()),
    };
    let preview = match text.char_indices().nth(PREVIEW) {
        Some((end, _)) => format!("{}…", head(&text, end)),
        None => text,
    };
    Reply::Result { text: preview, data: None, reference, media }
}

fn stored_media(ctx: &CallCtx, block: &Block) -> Option<String> {
    match block {
        Block::Image(blob) | Block::Audio(blob) => stored(ctx, &blob.media_type, &blob.data),
        _ => None,
    }
}

/// Keeps bytes as an artifact: its reference, if it could be kept.
pub(super) fn stored(ctx: &CallCtx, media_type: &str, bytes: &[u8]) -> Option<String> {
    let mut stream = ctx.stream(media_type);
    stream.write(bytes);
    match stream.finish() {
        Block::Spilled { artifact, .. } => artifact.map(|artifact| artifact.0),
        _ => None,
    }
}
