//! The parser: strict JSON in one pass, and the repairs that have one reading where strict JSON
//! ends. Its methods for objects, strings and scalars are in `object_parser`, `string_parser` and
//! `scalar_parser`, those for text after the value in `trailing_text`.
//!
//! Recursion is bounded by the depth limit, every byte is read a bounded number of times, and text
//! without repairs takes only the strict branches, so valid JSON has its standard meaning.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::argument_error::ArgumentError;
use super::changes::{ChangeKind, Changes, push_index, push_key};
use super::value_preview::shorten;

pub(super) const CUT: &str = "The text ends before the arguments are complete. Send the whole object again, and less text in it if it was cut for length.";
const NOT_JSON: &str = "Send only one JSON object, with all names and texts in double quotes.";
const COMMA: &str =
    "Put a comma between the entries, and write a double quote inside a string as \\\" .";

/// A parsed text and its nesting depth (0 for a scalar).
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) value: Value,
    pub(super) depth: usize,
    /// The message about the first number that does not fit into 64 bits; the value contains zero
    /// in its place.
    pub(super) out_of_range: Option<String>,
}

/// Parses one JSON value that must span all of `text`.
pub(super) fn parse(
    text: &str,
    max_depth: usize,
    changes: &mut Changes,
) -> Result<Parsed, ArgumentError> {
    let mut parser = Parser::new(text, max_depth, changes);
    parser.skip_space()?;
    let value = parser.value()?;
    parser.skip_space()?;
    if parser.pos < text.len() {
        parser.rest(&value)?;
    }
    Ok(Parsed { value, depth: parser.deepest, out_of_range: parser.out_of_range })
}

/// Parses strict JSON without any repair; `None` if `text` is not one JSON value.
///
/// ```
/// use toolcrib_argument_decoder::parse_strict;
///
/// assert_eq!(parse_strict("[1, 2]", 10), Some(serde_json::json!([1, 2])));
/// assert_eq!(parse_strict("[1, 2,]", 10), None);
/// ```
#[must_use]
pub fn parse_strict(text: &str, max_depth: usize) -> Option<Value> {
    let mut changes = Changes::default();
    let parsed = parse(text, max_depth, &mut changes).ok()?;
    (changes.is_empty() && parsed.out_of_range.is_none()).then_some(parsed.value)
}

/// One step of the path to the current value: the position of its key in the text, or its index.
/// Rendered only for a report.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Key(usize, usize),
    Index(usize),
}

pub(super) struct Parser<'t, 'c> {
    pub(super) text: &'t str,
    pub(super) pos: usize,
    pub(super) depth: usize,
    deepest: usize,
    pub(super) max_depth: usize,
    pub(super) path: Vec<Step>,
    pub(super) out_of_range: Option<String>,
    pub(super) changes: &'c mut Changes,
}

impl<'t, 'c> Parser<'t, 'c> {
    pub(super) fn new(text: &'t str, max_depth: usize, changes: &'c mut Changes) -> Self {
        let (pos, depth, deepest, path) = (0, 0, 0, Vec::new());
        Self { text, pos, depth, deepest, max_depth, path, out_of_range: None, changes }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    pub(super) fn report(&mut self, kind: ChangeKind, note: impl FnOnce() -> String) {
        let (text, path) = (self.text, &self.path);
        self.changes.add(kind, || (pointer(text, path), note()));
    }

    /// Returns the character at the position, in words.
    fn found(&self) -> String {
        match self.text.get(self.pos..).and_then(|rest| rest.chars().next()) {
            None => "the end of the text".to_owned(),
            Some(c @ ('\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}')) => {
                format!("the typographic quote {c}")
            }
            Some(c) if c.is_control() => format!("the character U+{:04X}", u32::from(c)),
            Some(c) => format!("{c:?}"),
        }
    }

    pub(super) fn unexpected(&self, fix: &'static str) -> ArgumentError {
        match self.peek() {
            None => ArgumentError::new(self.pos, "the end of the text", CUT),
            Some(_) => ArgumentError::new(self.pos, self.found(), fix),
        }
    }

    /// Skips whitespace and comments.
    pub(super) fn skip_space(&mut self) -> Result<(), ArgumentError> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.pos += 1,
                Some(b'/' | b'#') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<(), ArgumentError> {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let length = if rest.starts_with("//") || rest.starts_with('#') {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(body) = rest.strip_prefix("/*") {
            let end = body.find("*/").ok_or_else(|| {
                ArgumentError::new(
                    self.pos,
                    "a comment that does not end",
                    "Send the JSON object without comments.",
                )
            })?;
            end + 4
        } else {
            return Err(self.unexpected(NOT_JSON));
        };
        self.pos += length;
        self.report(ChangeKind::Comment, || {
            format!(
                "the comment {:?} was removed",
                shorten(rest.get(..length).unwrap_or_default(), 40)
            )
        });
        Ok(())
    }

    pub(super) fn value(&mut self) -> Result<Value, ArgumentError> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(quote @ (b'"' | b'\'' | b'`')) => self.string(quote).map(Value::String),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(),
            Some(b'r' | b'R')
                if matches!(self.text.as_bytes().get(self.pos + 1), Some(b'"' | b'\'')) =>
            {
                let quote = self.text.as_bytes().get(self.pos + 1).copied().map_or('"', char::from);
                self.raw_string(quote).map(Value::String)
            }
            Some(b'd')
                if self.text.get(self.pos..).is_some_and(|rest| rest.starts_with("dict(")) =>
            {
                self.python_dict()
            }
            Some(b) if b.is_ascii_alphabetic() || b == b'_' || b == b'$' => self.word(),
            _ => match self.typographic_string()? {
                Some(text) => Ok(Value::String(text)),
                None => Err(self.unexpected(NOT_JSON)),
            },
        }
    }

    pub(super) fn enter(&mut self) -> Result<(), ArgumentError> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        if self.depth > self.max_depth {
            return Err(ArgumentError::new(
                self.pos,
                format!("more than {} levels of nesting", self.max_depth),
                "Send a flatter object.",
            ));
        }
        self.pos += 1;
        Ok(())
    }

    fn array(&mut self) -> Result<Value, ArgumentError> {
        self.enter()?;
        let mut items = Vec::new();
        self.skip_space()?;
        if self.peek() != Some(b']') {
            loop {
                self.path.push(Step::Index(items.len()));
                items.push(self.value()?);
                self.path.pop();
                if !self.next_entry(b']', false)? {
                    break;
                }
            }
        }
        self.pos += 1;
        self.depth -= 1;
        Ok(Value::Array(items))
    }

    /// Ends an entry: returns true at a comma that another entry follows; false at the closing
    /// bracket, which is left to the caller, or at the end of the text if the last brace may be
    /// added.
    pub(super) fn next_entry(&mut self, close: u8, closable: bool) -> Result<bool, ArgumentError> {
        let after_value = self.pos;
        self.skip_space()?;
        match self.peek() {
            Some(b',') => {}
            Some(b) if b == close => return Ok(false),
            None if closable && self.all_blank(after_value) => {
                self.report(ChangeKind::MissingBrace, || {
                    "the missing last brace was added".to_owned()
                });
                return Ok(false);
            }
            Some(_) if self.begins_entry(close, after_value) => {
                self.report(ChangeKind::MissingComma, || "the missing comma was added".to_owned());
                return Ok(true);
            }
            _ => return Err(self.unexpected(COMMA)),
        }
        self.pos += 1;
        self.skip_space()?;
        if close == b'}' {
            self.extra_commas()?;
        }
        if self.peek() != Some(close) {
            return Ok(true);
        }
        self.report(ChangeKind::TrailingComma, || {
            "a comma before the closing bracket was removed".to_owned()
        });
        Ok(false)
    }

    /// Returns whether another entry certainly begins at the position, after a complete value that
    /// ended at `after`: a quoted key with its colon, or an object or array after another one. Two
    /// consecutive strings could be one, and a quote inside a string ends it too early.
    fn begins_entry(&self, close: u8, after: usize) -> bool {
        let bytes = self.text.as_bytes();
        let last = after.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        let rest = self.text.get(self.pos..).unwrap_or_default();
        if close == b']' {
            return matches!(last, Some(b'}' | b']')) && rest.starts_with(['{', '[']);
        }
        let is_apart = self.pos > after || last != Some(b'"');
        let key = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        is_apart
            && key.is_some_and(|(key, rest)| {
                let is_name = !key.is_empty()
                    && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.$".contains(&b));
                is_name && rest.trim_start().starts_with(':')
            })
    }

    /// Returns whether only whitespace follows: a comment at the end may be truncated.
    fn all_blank(&self, from: usize) -> bool {
        self.text.get(from..).unwrap_or_default().trim().is_empty()
    }
}

/// Returns the path as a JSON pointer, for a report.
pub(super) fn pointer(text: &str, path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        match *step {
            Step::Key(start, end) => {
                let key = text.get(start..end).unwrap_or_default();
                let quote = ['"', '\''];
                match parse_strict(key, 1) {
                    Some(Value::String(key)) => push_key(&mut out, &key),
                    _ => push_key(&mut out, key.trim_matches(quote)),
                }
            }
            Step::Index(index) => push_index(&mut out, index),
        }
    }
    out
}
