//! Shortens values for texts that a model or a person reads.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// Returns `text` up to `max` characters, with an ellipsis if it was truncated. Reads no more than
/// it returns.
pub(super) fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

/// Returns a value as JSON in approximately `max` bytes at most, for values of any size.
pub(super) fn preview(value: &Value, max: usize) -> String {
    let mut out = Bounded { text: String::new(), max };
    // The writer returns an error once it is full, which ends the serialization early.
    if fmt::Write::write_fmt(&mut out, format_args!("{}", ValuePreview(value))).is_err() {
        out.text.push('…');
    }
    out.text
}

/// Returns the type of a value, in the terms of JSON Schema, with its article.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::String(_) => "the string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

struct Bounded {
    text: String,
    max: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.max.saturating_sub(self.text.len());
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        let end = (0..=room).rev().find(|&end| part.is_char_boundary(end)).unwrap_or(0);
        self.text.push_str(part.get(..end).unwrap_or_default());
        Err(fmt::Error)
    }
}

/// Writes JSON without building the whole text first.
struct ValuePreview<'a>(&'a Value);

impl fmt::Display for ValuePreview<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::String(text) => write_string(f, text),
            Value::Array(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    write!(f, "{}", Self(item))?;
                }
                f.write_str("]")
            }
            Value::Object(map) => {
                f.write_str("{")?;
                for (i, (key, item)) in map.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    write_string(f, key)?;
                    write!(f, ":{}", Self(item))?;
                }
                f.write_str("}")
            }
            scalar => write!(f, "{scalar}"),
        }
    }
}

fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    // Longer strings are truncated anyway: 4 KB is more than any message may contain.
    for c in text.chars().take(4096) {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}
