//! Objects: members with their repairs, and `dict(..)` of Python.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value, map::Entry};

use super::argument_error::ArgumentError;
use super::changes::ChangeKind;
use super::parser::{Parser, Step};
use super::value_preview::{preview, shorten};

const UNDEFINED: &str = "undefined";

impl<'t> Parser<'t, '_> {
    pub(super) fn object(&mut self) -> Result<Value, ArgumentError> {
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
        // At the end of the text if the last brace was added.
        self.pos = (self.pos + 1).min(self.text.len());
        self.depth -= 1;
        Ok(Value::Object(map))
    }

    /// Reads one member. Returns true if the text may end after its value: a truncated number would
    /// look complete.
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

    /// Reads the colon after a key. Adds a missing one between a quoted key and a value that begins
    /// like one.
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

    /// Returns whether the value at the position is `undefined`.
    fn is_undefined(&self) -> bool {
        let rest = self.text.get(self.pos..).and_then(|rest| rest.strip_prefix(UNDEFINED));
        rest.is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_$".contains(c))
        })
    }

    /// Removes commas before the first or another member of an object. In an array they could
    /// represent a missing value.
    pub(super) fn extra_commas(&mut self) -> Result<(), ArgumentError> {
        while self.peek() == Some(b',') {
            self.pos += 1;
            self.skip_space()?;
            self.report(ChangeKind::ExtraComma, || "a comma too many was removed".to_owned());
        }
        Ok(())
    }

    /// Reads `dict(name=value, ...)`.
    pub(super) fn python_dict(&mut self) -> Result<Value, ArgumentError> {
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

    pub(super) fn identifier(&mut self) -> &'t str {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let length = rest
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || b == b'_' || b == b'$'))
            .unwrap_or(rest.len());
        self.pos += length;
        rest.get(..length).unwrap_or_default()
    }
}
