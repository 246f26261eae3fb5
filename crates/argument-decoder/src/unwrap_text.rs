//! Converts bytes to one JSON object: handles encoding, whitespace, fence and double encoding
//! around the parser.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::argument_error::ArgumentError;
use super::changes::{ChangeKind, Changes};
use super::decode::Limits;
use super::parser;
use super::surroundings::{self, Inside};

/// Maximum number of JSON strings around the object that are unwrapped (models and gateways encode
/// twice; a fourth layer is data).
pub const MAX_ENCODINGS: usize = 3;

/// The content of the text.
pub(super) enum Content {
    /// An object, and the nesting depth of its deepest value.
    Object(Map<String, Value>, usize),
    /// Another JSON value.
    Other(Value),
    /// An object with a number that does not fit into 64 bits; contains the message about it.
    OutOfRange(String),
}

/// Reads `raw`; the error is the message for the model.
pub(super) fn unwrap_text(
    raw: &[u8],
    limits: &Limits,
    changes: &mut Changes,
) -> Result<Content, String> {
    if raw.len() > limits.max_bytes {
        return Err(format!(
            "The arguments are {} bytes long; at most {} are read. Send less, for example a part of the text per call.",
            raw.len(),
            limits.max_bytes
        ));
    }
    let text = utf8(raw)?;
    read_layer(text, 0, limits, changes)
}

fn read_layer(
    text: &str,
    encodings: usize,
    limits: &Limits,
    changes: &mut Changes,
) -> Result<Content, String> {
    let (start, inner) = strip_wrapping(text, changes);
    if inner.is_empty() && encodings == 0 {
        return Ok(Content::Object(Map::new(), 0));
    }
    let mark = changes.mark();
    let parsed = match parser::parse(inner, limits.max_depth, changes) {
        Ok(parsed) => parsed,
        Err(mut fault) => {
            changes.restore(mark);
            match surroundings::read(inner, limits.max_depth, changes) {
                Some(Inside::Parsed(parsed)) => parsed,
                Some(Inside::Text(content)) if encodings < MAX_ENCODINGS => {
                    return read_layer(&content, encodings + 1, limits, changes);
                }
                _ => {
                    fault.at += start;
                    return Err(fault.render(text, encodings));
                }
            }
        }
    };
    if let Some(message) = parsed.out_of_range {
        return Ok(Content::OutOfRange(message));
    }
    match parsed.value {
        Value::Array(mut items) if matches!(*items.as_slice(), [Value::Object(_)]) => {
            changes.add(ChangeKind::ArrayOfOne, || {
                (
                    String::new(),
                    "the object stood in an array of one and was taken out of it".to_owned(),
                )
            });
            match items.pop() {
                Some(Value::Object(map)) => {
                    Ok(Content::Object(map, parsed.depth.saturating_sub(1)))
                }
                other => Ok(Content::Other(other.unwrap_or_default())),
            }
        }
        Value::Object(map) => Ok(Content::Object(map, parsed.depth)),
        Value::Null if encodings == 0 => {
            changes.add(ChangeKind::NullArguments, || {
                (String::new(), "the text null was read as no arguments".to_owned())
            });
            Ok(Content::Object(Map::new(), 0))
        }
        Value::String(content) if encodings < MAX_ENCODINGS && may_hold_object(&content) => {
            changes.add(ChangeKind::DoubleEncoded, || {
                (
                    String::new(),
                    "the object stood inside a JSON string and was taken out of it".to_owned(),
                )
            });
            read_layer(&content, encodings + 1, limits, changes)
        }
        other => Ok(Content::Other(other)),
    }
}

/// Returns whether the content of a string is an attempted object rather than words.
fn may_hold_object(content: &str) -> bool {
    content
        .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
        .starts_with(['{', '"', '`', '~'])
}

/// Returns the text without byte-order mark, surrounding whitespace and fence, and its start.
fn strip_wrapping<'a>(text: &'a str, changes: &mut Changes) -> (usize, &'a str) {
    let mut inner = text;
    if let Some(rest) = inner.strip_prefix('\u{feff}') {
        inner = rest;
        changes.add(ChangeKind::ByteOrderMark, || {
            (String::new(), "a byte-order mark was removed".to_owned())
        });
    }
    inner = trim(inner, changes);
    if let Some(fenced) = unfence(inner) {
        inner = trim(fenced, changes);
        changes.add(ChangeKind::CodeFence, || {
            (String::new(), "the Markdown code fence around the arguments was removed".to_owned())
        });
    }
    (offset_in(text, inner), inner)
}

fn trim<'a>(text: &'a str, changes: &mut Changes) -> &'a str {
    let json = text.trim_matches([' ', '\t', '\n', '\r']);
    let trimmed = json.trim();
    if trimmed.len() != json.len() && !trimmed.is_empty() {
        changes.add(ChangeKind::Whitespace, || {
            (
                String::new(),
                "whitespace around the arguments that JSON does not know was removed".to_owned(),
            )
        });
    }
    trimmed
}

/// Returns the content of a fence that opens at the start and closes at the end of the text.
fn unfence(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = text.len() - text.trim_start_matches(mark).len();
    let fence = text.get(..width).filter(|_| width >= 3)?;
    let content = text.get(width..)?.strip_suffix(fence)?;
    // The language name, if any.
    let content = content.trim_start_matches(|c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '.')
    });
    let empty = content.trim().is_empty() || content.ends_with(mark);
    (!empty).then_some(content)
}

fn offset_in(outer: &str, inner: &str) -> usize {
    (inner.as_ptr() as usize).saturating_sub(outer.as_ptr() as usize).min(outer.len())
}

fn utf8(raw: &[u8]) -> Result<&str, String> {
    const FIX: &str = "Send the arguments as UTF-8 text.";
    if raw.starts_with(&[0xff, 0xfe]) || raw.starts_with(&[0xfe, 0xff]) {
        return Err(ArgumentError::new(0, "UTF-16 text", FIX).render("", 0));
    }
    std::str::from_utf8(raw).map_err(|error| {
        let at = error.valid_up_to();
        let byte = raw.get(at).copied().unwrap_or_default();
        let valid =
            raw.get(..at).and_then(|part| std::str::from_utf8(part).ok()).unwrap_or_default();
        ArgumentError::new(at, format!("the byte 0x{byte:02X}, which is not UTF-8"), FIX)
            .render(valid, 0)
    })
}
