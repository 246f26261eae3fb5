//! Repairs around the object: words, a lost first brace, quotes that are all escaped.
//!
//! They are tried only if the text is not JSON.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::changes::{ChangeKind, Changes};
use super::parser::{self, Parsed};
use super::value_preview::shorten;

/// The result of a repair.
pub(super) enum Inside {
    /// The object.
    Parsed(Parsed),
    /// A text that contains it.
    Text(String),
}

/// Reads a text that is not JSON; `None` if no repair applies, and then nothing is reported.
pub(super) fn read(text: &str, max_depth: usize, changes: &mut Changes) -> Option<Inside> {
    if let Some(content) = escaped(text, max_depth) {
        changes.add(ChangeKind::EscapedQuotes, || {
            (
                String::new(),
                "the quotes of the object were all escaped; they were read as quotes".to_owned(),
            )
        });
        return Some(Inside::Text(content));
    }
    let mut found = Changes::default();
    let parsed = match text.starts_with('"') {
        true => with_first_brace(text, max_depth, &mut found),
        false => after_words(text, max_depth, &mut found),
    }?;
    changes.append(found);
    Some(Inside::Parsed(parsed))
}

/// Handles `{\"a\": \"b\"}`: the content of a JSON string without its quotes.
fn escaped(text: &str, max_depth: usize) -> Option<String> {
    let inner = text.strip_prefix('{')?.trim_start();
    if !inner.starts_with("\\\"") {
        return None;
    }
    // A line break between the members is not part of the string.
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match parser::parse_strict(&format!("\"{line}\""), max_depth)? {
        Value::String(content) => Some(content),
        _ => None,
    }
}

/// Handles `"a": 1}`: the first brace was lost.
fn with_first_brace(text: &str, max_depth: usize, found: &mut Changes) -> Option<Parsed> {
    if !text.ends_with('}') {
        return None;
    }
    let parsed = parser::parse(&format!("{{{text}"), max_depth, found).ok()?;
    // Words or braces after it would be a second error.
    let is_exact = found.is_empty() && is_filled(&parsed.value);
    found.add(ChangeKind::MissingBrace, || {
        (String::new(), "the missing first brace was added".to_owned())
    });
    is_exact.then_some(parsed)
}

/// Handles words before the object. A name before a bracket is a call of another function, and
/// quotes or brackets are not words.
fn after_words(text: &str, max_depth: usize, found: &mut Changes) -> Option<Parsed> {
    let at = text.find('{')?;
    let (words, object) = text.split_at_checked(at)?;
    let is_prose = !words.trim().is_empty()
        && !words.contains(['}', '[', ']', '"', '='])
        && !words.trim_end().ends_with(['(', '$', '#']);
    if !is_prose {
        return None;
    }
    found.add(ChangeKind::SurroundingText, || {
        (
            String::new(),
            format!("the text {:?} before the object was removed", shorten(words.trim(), 40)),
        )
    });
    let parsed = parser::parse(object, max_depth, found).ok()?;
    (is_filled(&parsed.value) && !found.has(ChangeKind::MissingBrace)).then_some(parsed)
}

/// Returns whether a value is a non-empty object: words never become `{}`.
fn is_filled(value: &Value) -> bool {
    value.as_object().is_some_and(|map| !map.is_empty())
}
