//! Text after the arguments: a comma, a brace, the same object again, or words.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::argument_error::ArgumentError;
use super::changes::{ChangeKind, Changes};
use super::parser::Parser;
use super::value_preview::shorten;

/// Returns the strict JSON value that spans `text`. Unlike [`parse_strict`] it ignores the text
/// after it, so that a text of many objects is read once.
fn strict_end(text: &str, max_depth: usize) -> Option<Value> {
    let mut changes = Changes::default();
    let mut parser = Parser::new(text, max_depth, &mut changes);
    let value = parser.value().ok()?;
    let is_whole = parser.pos == text.len() && parser.out_of_range.is_none();
    (is_whole && changes.is_empty()).then_some(value)
}

impl Parser<'_, '_> {
    /// Reads the text after the whole value, if it adds no information: a comma, one brace, the
    /// same object again, or words.
    pub(super) fn rest(&mut self, value: &Value) -> Result<(), ArgumentError> {
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
}
