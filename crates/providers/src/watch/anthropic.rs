//! What the events of Messages show.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::out::Out;
use crate::calls::{MAX_BLOCKS, text_of};

#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Blocks that are open, by index.
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
    pub(super) fn read(&mut self, event: &Value, out: &mut Out<'_, '_>) -> bool {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match text_of(event, "type") {
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

/// A body that is not streamed.
fn whole(body: &Value, out: &mut Out<'_, '_>) -> bool {
    match body.get("content") {
        Some(Value::String(text)) => out.text(text),
        Some(Value::Array(blocks)) => blocks.iter().for_each(|block| {
            begin(block, out);
        }),
        // A bare list of blocks.
        _ if text_of(body, "type").is_some() => {
            begin(body, out);
            return false;
        }
        _ => return false,
    }
    true
}

fn begin(block: &Value, out: &mut Out<'_, '_>) -> Kind {
    match text_of(block, "type") {
        Some("text") => {
            out.text(text_of(block, "text").unwrap_or_default());
            Kind::Text
        }
        Some("thinking") => {
            out.reasoning(text_of(block, "thinking").unwrap_or_default());
            Kind::Thinking
        }
        Some("tool_use") => {
            let place = out.call(text_of(block, "name").unwrap_or_default());
            match block.get("input") {
                Some(Value::Object(input)) if input.is_empty() => {}
                None | Some(Value::Null) => {}
                Some(input) => out.args(place, &input.to_string()),
            }
            Kind::Call(place)
        }
        Some(kind @ ("server_tool_use" | "mcp_tool_use")) => {
            out.hosted(text_of(block, "name").unwrap_or(kind));
            Kind::Other
        }
        _ => Kind::Other,
    }
}

fn grow(kind: Kind, delta: &Value, out: &mut Out<'_, '_>) {
    let piece = |key: &str| text_of(delta, key).unwrap_or_default();
    match (text_of(delta, "type"), kind) {
        (Some("text_delta"), Kind::Text) => out.text(piece("text")),
        (Some("thinking_delta"), Kind::Thinking) => out.reasoning(piece("thinking")),
        (Some("input_json_delta"), Kind::Call(place)) => out.args(place, piece("partial_json")),
        _ => {}
    }
}
