//! Stream preview of Anthropic Messages events.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::preview_sink::PreviewSink;
use crate::call_collector::{MAX_BLOCKS, text_field};

#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Open blocks, by index.
    open: Vec<(u64, Kind)>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Thinking,
    Call(usize),
    Other,
}

impl Reader {
    pub(super) fn read(&mut self, event: &Value, out: &mut PreviewSink<'_, '_>) -> bool {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match text_field(event, "type") {
            Some("content_block_start") => {
                let block = event.get("content_block");
                if let (Some(block), None) = (block, self.find(index))
                    && self.open.len() < MAX_BLOCKS
                {
                    let kind = begin(block, out);
                    self.open.push((index, kind));
                }
            }
            Some("content_block_delta") => {
                if let (Some(kind), Some(delta)) = (self.find(index), event.get("delta")) {
                    grow(kind, delta, out);
                }
            }
            Some("content_block_stop") => self.open.retain(|(i, _)| *i != index),
            Some("message_delta") => out.flush(),
            Some("message_stop" | "error") => return true,
            Some("message_start" | "ping") => {}
            _ => return whole(event, out),
        }
        false
    }

    fn find(&self, index: u64) -> Option<Kind> {
        self.open.iter().find(|(i, _)| *i == index).map(|(_, kind)| *kind)
    }
}

/// Shows a body that is not streamed.
fn whole(body: &Value, out: &mut PreviewSink<'_, '_>) -> bool {
    match body.get("content") {
        Some(Value::String(text)) => out.text(text),
        Some(Value::Array(blocks)) => blocks.iter().for_each(|block| {
            begin(block, out);
        }),
        // A bare list of blocks.
        _ if text_field(body, "type").is_some() => {
            begin(body, out);
            return false;
        }
        _ => return false,
    }
    true
}

fn begin(block: &Value, out: &mut PreviewSink<'_, '_>) -> Kind {
    match text_field(block, "type") {
        Some("text") => {
            out.text(text_field(block, "text").unwrap_or_default());
            Kind::Text
        }
        Some("thinking") => {
            out.reasoning(text_field(block, "thinking").unwrap_or_default());
            Kind::Thinking
        }
        Some("tool_use") => {
            let place = out.call(text_field(block, "name").unwrap_or_default());
            match block.get("input") {
                Some(Value::Object(input)) if input.is_empty() => {}
                None | Some(Value::Null) => {}
                Some(input) => out.args(place, &input.to_string()),
            }
            Kind::Call(place)
        }
        Some(kind @ ("server_tool_use" | "mcp_tool_use")) => {
            out.hosted(text_field(block, "name").unwrap_or(kind));
            Kind::Other
        }
        _ => Kind::Other,
    }
}

fn grow(kind: Kind, delta: &Value, out: &mut PreviewSink<'_, '_>) {
    let piece = |key: &str| text_field(delta, key).unwrap_or_default();
    match (text_field(delta, "type"), kind) {
        (Some("text_delta"), Kind::Text) => out.text(piece("text")),
        (Some("thinking_delta"), Kind::Thinking) => out.reasoning(piece("thinking")),
        (Some("input_json_delta"), Kind::Call(place)) => out.args(place, piece("partial_json")),
        _ => {}
    }
}
