//! The parser: strict JSON in one pass, and the repairs that have one reading where strict JSON
//! ends.
//!
//! Recursion is bounded by the depth limit, every byte is looked at a bounded number of times, and
//! text without repairs takes the strict branches only, so valid JSON means here what it means
//! everywhere.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value, map::Entry};

use super::argument_error::ArgumentError;
use super::changes::{ChangeKind, Changes, push_index, push_key};
use super::number::{self, NumberToken};
use super::value_preview::{preview, shorten};

pub(super) const CUT: &str = "The text ends before the arguments are complete. Send the whole object again, and less text in it if it was cut for length.";
const NOT_JSON: &str = "Send only one JSON object, with all names and texts in double quotes.";
const UNDEFINED: &str = "undefined";
const COMMA: &str =
    "Put a comma between the entries, and write a double quote inside a string as \\\" .";

/// A parsed text and how deep it is nested (0 for a scalar).
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) value: Value,
    pub(super) depth: usize,
    /// What is to be said of the first number that no 64-bit number holds; zero stands in its
    /// place.
    pub(super) out_of_range: Option<String>,
}

/// Parses one JSON value that must fill `text`.
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

/// The strict JSON value that fills `text`. Unlike [`parse_strict`] it looks at nothing behind it,
/// so that a text of many objects is read once.
fn strict_end(text: &str, max_depth: usize) -> Option<Value> {
    let mut changes = Changes::default();
    let mut parser = Parser::new(text, max_depth, &mut changes);
    let value = parser.value().ok()?;
    let is_whole = parser.pos == text.len() && parser.out_of_range.is_none();
    (is_whole && changes.is_empty()).then_some(value)
}

/// A step of the path to the value being read: where its key is in the text, or its index. Rendered
/// only when something is reported.
#[derive(Clone, Copy)]
enum Step {
    Key(usize, usize),
    Index(usize),
}

pub(super) struct Parser<'t, 'c> {
    pub(super) text: &'t str,
    pub(super) pos: usize,
    depth: usize,
    deepest: usize,
    max_depth: usize,
    path: Vec<Step>,
    out_of_range: Option<String>,
    changes: &'c mut Changes,
}

impl<'t, 'c> Parser<'t, 'c> {
    fn new(text: &'t str, max_depth: usize, changes: &'c mut Changes) -> Self {
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

    /// The character at the position, in words.
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

    /// Reads what follows the whole value, if it says nothing more: a comma, one brace, the same
    /// object again, or words.
    fn rest(&mut self, value: &Value) -> Result<(), ArgumentError> {
        let rest = self.text.get(self.pos..).unwrap_or_default().trim_end();
        if value.as_object().is_none_or(|map| map.is_empty())
            || self.changes.has(ChangeKind::MissingBrace)
        {
            return Err(self.trailing());
        }
        let (kind, note) = if rest == "," {
            (ChangeKind::ExtraComma, "a comma after the object was removed".to_owned())
        } else if rest == "}" {
            (ChangeKind::ExtraBrace, "a second brace at the end was removed".to_owned())
        } else if !rest.contains(['{', '}', '[', ']', '"']) && !rest.starts_with([',', ':']) {
            (
                ChangeKind::SurroundingText,
                format!("the text {:?} after the object was removed", shorten(rest, 40)),
            )
        } else if strict_end(rest.trim_start_matches([',', '\n', ' ']), self.max_depth).as_ref()
            == Some(value)
        {
            (ChangeKind::RepeatedObject, "the same object stood twice; one was kept".to_owned())
        } else {
            return Err(self.trailing());
        };
        self.report(kind, || note);
        Ok(())
    }

    fn trailing(&self) -> ArgumentError {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        match self.peek() {
            Some(b'{' | b'[' | b',') => ArgumentError::new(
                self.pos,
                "a second value after the first",
                "Send exactly one JSON object; make a separate call for each further one.",
            ),
            _ => ArgumentError::new(
                self.pos,
                format!("text after the end of the JSON value: {:?}", shorten(rest, 40)),
                "Send only the JSON object, with nothing after it.",
            ),
        }
    }

    /// Skips whitespace and comments.
    fn skip_space(&mut self) -> Result<(), ArgumentError> {
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

    fn value(&mut self) -> Result<Value, ArgumentError> {
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

    fn enter(&mut self) -> Result<(), ArgumentError> {
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

    fn object(&mut self) -> Result<Value, ArgumentError> {
        self.enter()?;
        let mut map = Map::new();
        self.skip_space()?;
        self.extra_commas()?;
        if self.peek() != Some(b'}') {
            loop {
                let closable = self.member(&mut map)?;
                if !self.next_entry(b'}', closable)? {
                    break;
                }
            }
        }
        // At the end of the text when the last brace was added.
        self.pos = (self.pos + 1).min(self.text.len());
        self.depth -= 1;
        Ok(Value::Object(map))
    }

    /// Reads one member. True if text may end behind its value: a number might go on.
    fn member(&mut self, map: &mut Map<String, Value>) -> Result<bool, ArgumentError> {
        let start = self.pos;
        let key = self.key()?;
        let end = self.pos;
        self.skip_space()?;
        self.path.push(Step::Key(start, end));
        self.colon(start, end)?;
        if self.is_undefined() {
            self.pos += UNDEFINED.len();
            self.report(ChangeKind::UndefinedRemoved, || {
                "undefined was read as the absence of the parameter".to_owned()
            });
            self.path.pop();
            return Ok(self.depth == 1);
        }
        let value = self.value()?;
        let closable = self.depth == 1 && !value.is_number();
        self.insert(map, key, value, start)?;
        self.path.pop();
        Ok(closable)
    }

    /// Reads the colon after a key. One that is missing is added between a key in quotes and a
    /// value that begins like one.
    fn colon(&mut self, start: usize, end: usize) -> Result<(), ArgumentError> {
        if self.peek() == Some(b':') {
            self.pos += 1;
            return self.skip_space();
        }
        let is_quoted = self.text.get(start..end).is_some_and(|key| key.ends_with('"'));
        let begins_value = matches!(self.peek(), Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9'));
        if !(is_quoted && begins_value && self.pos > end) {
            return Err(self.unexpected("Put a colon between the name and its value."));
        }
        self.report(ChangeKind::MissingColon, || "the missing colon was added".to_owned());
        Ok(())
    }

    /// Whether the value at the position is `undefined`.
    fn is_undefined(&self) -> bool {
        let rest = self.text.get(self.pos..).and_then(|rest| rest.strip_prefix(UNDEFINED));
        rest.is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_$".contains(c))
        })
    }

    /// Removes commas before the first or another member of an object. In an array they could stand
    /// for a missing value.
    fn extra_commas(&mut self) -> Result<(), ArgumentError> {
        while self.peek() == Some(b',') {
            self.pos += 1;
            self.skip_space()?;
            self.report(ChangeKind::ExtraComma, || "a comma too many was removed".to_owned());
        }
        Ok(())
    }

    /// `dict(name=value, ...)`
    fn python_dict(&mut self) -> Result<Value, ArgumentError> {
        const FIX: &str = "Send a JSON object with all names and texts in double quotes.";
        let start = self.pos;
        self.pos += "dict".len();
        self.enter()?;
        let mut map = Map::new();
        self.skip_space()?;
        while self.peek() != Some(b')') {
            let from = self.pos;
            let name = self.identifier().to_owned();
            let end = self.pos;
            self.skip_space()?;
            if name.is_empty() || self.peek() != Some(b'=') {
                return Err(self.unexpected(FIX));
            }
            self.pos += 1;
            self.skip_space()?;
            self.path.push(Step::Key(from, end));
            let value = self.value()?;
            self.insert(&mut map, name, value, from)?;
            self.path.pop();
            self.skip_space()?;
            match self.peek() {
                Some(b',') => {
                    self.pos += 1;
                    self.skip_space()?;
                }
                Some(b')') => {}
                _ => return Err(self.unexpected(FIX)),
            }
        }
        self.pos += 1;
        self.depth -= 1;
        let found = shorten(self.text.get(start..self.pos).unwrap_or_default(), 40).into_owned();
        self.report(ChangeKind::PythonDict, || format!("{found} was read as an object"));
        Ok(Value::Object(map))
    }

    fn insert(
        &mut self,
        map: &mut Map<String, Value>,
        key: String,
        value: Value,
        at: usize,
    ) -> Result<(), ArgumentError> {
        match map.entry(key) {
            Entry::Vacant(slot) => {
                slot.insert(value);
                return Ok(());
            }
            Entry::Occupied(slot) if *slot.get() != value => {
                return Err(ArgumentError::new(
                    at,
                    format!(
                        "the name {:?} twice with different values, {} and {}",
                        shorten(slot.key(), 60),
                        preview(slot.get(), 60),
                        preview(&value, 60)
                    ),
                    "Send each name once.",
                ));
            }
            Entry::Occupied(_) => {}
        }
        self.report(ChangeKind::DuplicateKey, || {
            "the name stood twice with the same value; one was kept".to_owned()
        });
        Ok(())
    }

    fn key(&mut self) -> Result<String, ArgumentError> {
        match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.string(quote),
            Some(0xe2) => {
                let typographic = self.typographic_string()?;
                typographic
                    .ok_or_else(|| self.unexpected("Here a name in double quotes is needed."))
            }
            Some(b) if b.is_ascii_alphabetic() || b == b'_' || b == b'$' => {
                let key = self.identifier();
                self.report(ChangeKind::UnquotedKey, || {
                    format!("the name {:?} stood without quotes", shorten(key, 60))
                });
                Ok(key.to_owned())
            }
            _ => Err(self.unexpected("Here a name in double quotes is needed.")),
        }
    }

    fn identifier(&mut self) -> &'t str {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let length = rest
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || b == b'_' || b == b'$'))
            .unwrap_or(rest.len());
        self.pos += length;
        rest.get(..length).unwrap_or_default()
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

    /// After an entry: true at a comma with another entry behind it, false at the closing bracket,
    /// which is left to the caller, or at the end of the text where the last brace may be added.
    fn next_entry(&mut self, close: u8, closable: bool) -> Result<bool, ArgumentError> {
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

    /// Whether another entry certainly begins at the position, after a complete value that ended at
    /// `after`: a key in quotes with its colon, or an object or array after another one. Two texts
    /// in a row could be one, and a quote inside a text ends it too early.
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

    /// Whether nothing but whitespace follows: a comment at the end may itself be cut.
    fn all_blank(&self, from: usize) -> bool {
        self.text.get(from..).unwrap_or_default().trim().is_empty()
    }

    fn number(&mut self) -> Result<Value, ArgumentError> {
        let start = self.pos;
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-')))
            .unwrap_or(rest.len());
        let token = rest.get(..length).unwrap_or_default();
        self.pos += length;
        let read = number::parse(token).map_err(|fix| {
            ArgumentError::new(
                start,
                format!("{:?} where a value is needed", shorten(token, 60)),
                fix,
            )
        })?;
        Ok(Value::Number(match read {
            NumberToken::Strict(number) => number,
            NumberToken::Foreign(number) => {
                self.report(ChangeKind::NumberSyntax, || {
                    format!("{} was read as {number}", shorten(token, 60))
                });
                number
            }
            NumberToken::Underflow(zero) => {
                self.report(ChangeKind::Underflow, || {
                    format!(
                        "{} is too small for a 64-bit float and was read as 0",
                        shorten(token, 60)
                    )
                });
                zero
            }
            NumberToken::OutOfRange(why) => {
                let place = pointer(self.text, &self.path);
                let token = shorten(token, 60);
                self.out_of_range.get_or_insert_with(|| {
                    format!("{place}: the number {token} {why} and would be changed. Send a smaller number, or the digits as a string if the tool takes strings.")
                });
                0.into()
            }
        }))
    }

    fn word(&mut self) -> Result<Value, ArgumentError> {
        let start = self.pos;
        let word = self.identifier();
        let value = match word {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "null" => return Ok(Value::Null),
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            "NaN" | "Infinity" => {
                return Err(ArgumentError::new(
                    start,
                    word,
                    "JSON has no NaN or Infinity. Send a finite number, null, or leave the parameter out.",
                ));
            }
            "undefined" => {
                return Err(ArgumentError::new(
                    start,
                    word,
                    "JSON has no undefined. Leave the parameter out, or send null.",
                ));
            }
            _ if self.depth == 0 => {
                return Err(ArgumentError::new(
                    start,
                    format!("the text {:?} instead of a JSON object", shorten(word, 40)),
                    "Send only the JSON object, without any words before it.",
                ));
            }
            _ => {
                return Err(ArgumentError::new(
                    start,
                    format!("{:?} without quotes", shorten(word, 40)),
                    "Put texts into double quotes, and send the whole object.",
                ));
            }
        };
        self.report(ChangeKind::PythonLiteral, || format!("{word} was read as {value}"));
        Ok(value)
    }
}

fn pointer(text: &str, path: &[Step]) -> String {
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
