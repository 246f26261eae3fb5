//! Finds the marked blocks of a text: tags and code fences.
#![deny(clippy::indexing_slicing)]

use crate::raw_json;

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// The mark of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// `<tool_call>`.
    Tag,
    /// A fence marked `tool_call`.
    CallFence,
    /// A fence marked `json`, or not marked.
    JsonFence,
    /// Any other fence.
    OtherFence,
}

/// A marked block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'t> {
    pub(super) mark: Mark,
    /// Byte range of the block, marks included.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Text between the marks.
    pub(super) body: &'t str,
    /// Whether the closing mark exists.
    pub(super) closed: bool,
}

/// Returns all blocks, in order.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut json_ends = true;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let words = rest.trim_start_matches(|c: char| c.is_whitespace() && c != '\n');
        if words.starts_with(OPEN) {
            // Another tag may follow on the same line, so scanning continues directly after the
            // block.
            let block = tag(text, at + rest.len() - words.len(), &mut json_ends);
            at = block.end;
            found.push(block);
            continue;
        }
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        if words.starts_with("```") {
            let block = fence(text, at, line);
            at = block.end.max(at + 1);
            found.push(block);
        } else {
            at += line.len();
        }
    }
    found
}

fn fence<'t>(text: &'t str, start: usize, first: &str) -> Block<'t> {
    let marker = first.trim();
    let ticks = marker.len() - marker.trim_start_matches('`').len();
    let language = marker.trim_start_matches('`').trim().to_ascii_lowercase();
    let mark = match language.as_str() {
        "tool_call" | "tool_calls" => Mark::CallFence,
        "json" | "" => Mark::JsonFence,
        _ => Mark::OtherFence,
    };
    let body_start = start + first.len();
    let mut at = body_start;
    for line in text.get(body_start..).unwrap_or_default().split_inclusive('\n') {
        let bare = line.trim();
        if bare.len() >= ticks && bare.bytes().all(|b| b == b'`') {
            let body = text.get(body_start..at).unwrap_or_default();
            return Block { mark, start, end: at + line.len(), body, closed: true };
        }
        at += line.len();
    }
    let body = text.get(body_start..).unwrap_or_default();
    Block { mark, start, end: text.len(), body, closed: false }
}

/// Returns the block of a tag. The JSON text determines where the body ends, so a closing tag
/// inside a string is ignored. Once the JSON of one tag has no end in the whole text (`json_ends`),
/// later tags are not scanned for theirs: each scan would run to the end again. At worst their
/// calls are cut.
fn tag<'t>(text: &'t str, start: usize, json_ends: &mut bool) -> Block<'t> {
    let rest = text.get(start + OPEN.len()..).unwrap_or_default();
    let from = rest.len() - rest.trim_start().len();
    let json = rest.get(from..).filter(|body| *json_ends && body.starts_with(['{', '[']));
    let value = json.and_then(raw_json::split_value);
    *json_ends &= json.is_some() == value.is_some();
    let after_json = value.map(|(value, _)| from + value.len());
    let search = after_json.unwrap_or(0);
    let close = rest.get(search..).and_then(|r| r.find(CLOSE)).map(|at| search + at);
    let (body, length, closed) = match close {
        Some(at) => (rest.get(..at).unwrap_or_default(), at + CLOSE.len(), true),
        None => (rest, rest.len(), false),
    };
    Block { mark: Mark::Tag, start, end: start + OPEN.len() + length, body, closed }
}
