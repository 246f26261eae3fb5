//! Conversions of text to other values without loss.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::changes::ChangeKind;
use super::number;
use super::parser::parse_strict;
use super::type_set::TypeSet;

/// Returns the number of which this is the canonical text, with or without surrounding blanks.
pub(super) fn as_number(text: &str, wanted: TypeSet) -> Option<(ChangeKind, Value)> {
    if !wanted.covers(TypeSet::INTEGER) {
        return None;
    }
    let number = number::canonical(text.trim_matches(' '))?;
    let fits = !number.is_f64() || wanted.covers(TypeSet::FRACTION);
    fits.then_some((ChangeKind::ToNumber, Value::Number(number)))
}

/// Returns the boolean for a literal of JSON or Python.
pub(super) fn as_boolean(text: &str, wanted: TypeSet) -> Option<(ChangeKind, Value)> {
    let boolean = match text {
        "true" | "True" => true,
        "false" | "False" => false,
        _ => return None,
    };
    wanted.covers(TypeSet::BOOLEAN).then_some((ChangeKind::ToBoolean, Value::Bool(boolean)))
}

/// Returns the array or object for which this is the JSON text.
pub(super) fn as_embedded(
    text: &str,
    wanted: TypeSet,
    deepest: usize,
) -> Option<(ChangeKind, Value)> {
    let wants_it = (wanted.covers(TypeSet::ARRAY) && text.trim_start().starts_with('['))
        || (wanted.covers(TypeSet::OBJECT) && text.trim_start().starts_with('{'));
    let value = wants_it.then(|| parse_strict(text, deepest)).flatten()?;
    wanted.covers(TypeSet::of(&value)).then_some((ChangeKind::ParsedString, value))
}

/// Returns the only allowed value that differs from the text in nothing but ASCII case and
/// surrounding blanks.
pub(super) fn enum_case<'v>(text: &str, allowed: &'v [Value]) -> Option<&'v str> {
    if allowed.iter().any(|value| value == text) {
        return None;
    }
    let text = text.trim_matches(' ');
    let mut matching =
        allowed.iter().filter_map(Value::as_str).filter(|value| value.eq_ignore_ascii_case(text));
    let only = matching.next()?;
    matching.next().is_none().then_some(only)
}
