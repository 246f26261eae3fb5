//! Validation errors as messages that a model can act on: path, expected value, actual value, and
//! advice.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use super::schema::Schema;
use super::schema_references::push_segment;
use super::suggest::nearest;
use super::value_preview::{kind_of, preview, shorten};
use super::value_size::value_size;

/// Longest error message, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 4_000;
/// The sentence that ends the message about values that a schema rejects: the next step of the
/// model. User interfaces for people omit it.
pub const CORRECT_AND_RETRY: &str = "Correct this and call the tool again.";
/// Maximum number of errors in one message; the model corrects the rest after the next call.
const MAX_ERRORS: usize = 5;
/// Maximum length of a line, in characters.
const MAX_LINE: usize = 600;
/// Maximum size of a value for which all errors are collected; for larger ones only the first is
/// reported, because the validator creates a record for each wrong element.
const FULL_REPORT: usize = 20_000;
/// Maximum depth to which the errors of alternatives are followed.
const MAX_BRANCH_DEPTH: usize = 4;

/// Renders the message for a value that the validator rejects.
pub(super) fn render(validator: &Validator, value: &Value, schema: &Schema) -> String {
    let errors: Vec<ValidationError<'_>> = if value_size(value, FULL_REPORT).is_some() {
        validator.iter_errors(value).collect()
    } else {
        validator.validate(value).err().into_iter().collect()
    };
    let mut lines = Vec::new();
    for error in errors.iter().take(MAX_ERRORS) {
        describe(error, schema, 0, &mut lines);
    }
    lines.dedup();
    let more = errors.len().saturating_sub(MAX_ERRORS) + lines.len().saturating_sub(MAX_ERRORS);
    lines.truncate(MAX_ERRORS);
    if more > 0 {
        lines.push(format!("There are {more} more problems."));
    }
    lines.push(format!("Nothing was done. {CORRECT_AND_RETRY}"));
    let text = lines.iter().map(|line| shorten(line, MAX_LINE)).collect::<Vec<_>>().join("\n");
    bounded(text)
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_MESSAGE_BYTES {
        let end = (0..=MAX_MESSAGE_BYTES - 3).rev().find(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}

fn describe(error: &ValidationError<'_>, schema: &Schema, depth: usize, lines: &mut Vec<String>) {
    match error.kind() {
        Kind::Required { property } => lines.push(missing(error, property, schema)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            lines.extend(
                unexpected.iter().take(MAX_ERRORS).map(|name| unknown(error, name, schema)),
            );
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            alternatives(error, context, schema, depth, lines);
        }
        _ => lines.push(simple(error)),
    }
}

/// Renders one line: path, expected value, actual value, advice.
fn simple(error: &ValidationError<'_>) -> String {
    let (expected, advice) = expectation(error);
    let value = error.instance();
    let got = format!("{} {}", kind_of(value), preview(value, 120));
    let got = if value.is_null() { "null".to_owned() } else { got };
    format!("{}: expected {expected}, got {got}. {advice}", path(error.instance_path()))
}

fn missing(error: &ValidationError<'_>, property: &Value, schema: &Schema) -> String {
    let name = property.as_str().unwrap_or_default();
    let properties = sibling_properties(error, schema);
    let about = properties.and_then(|known| known.get(name)).map(about).unwrap_or_default();
    let sent = error.instance().as_object();
    let strangers = sent.into_iter().flat_map(Map::keys).map(String::as_str);
    let strangers =
        strangers.filter(|key| properties.is_none_or(|known| !known.contains_key(*key)));
    let advice = match nearest(name, strangers) {
        Some(near) => format!("You sent {near:?}; name it {:?}.", shorten(name, 80)),
        None => "Add it.".to_owned(),
    };
    let place = join(&inner_path(error.instance_path()), name);
    format!("{place}: expected this required parameter{about}, got nothing. {advice}")
}

fn unknown(error: &ValidationError<'_>, name: &str, schema: &Schema) -> String {
    let known: Vec<&str> = sibling_properties(error, schema)
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    let sent = error.instance().as_object();
    let free = known.iter().copied().filter(|key| sent.is_none_or(|sent| !sent.contains_key(*key)));
    let advice = match nearest(name, free) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => "Leave it out.".to_owned(),
    };
    let place = join(&inner_path(error.instance_path()), name);
    let names = shorten(&known.join(", "), 300).into_owned();
    let names =
        if names.is_empty() { "no parameters here".to_owned() } else { format!("only {names}") };
    format!("{place}: expected {names}, got an unknown parameter. {advice}")
}

/// Returns the `properties` beside the failing keyword.
fn sibling_properties<'s>(
    error: &ValidationError<'_>,
    schema: &'s Schema,
) -> Option<&'s Map<String, Value>> {
    let keyword = error.schema_path().as_str();
    let (parent, _) = keyword.rsplit_once('/')?;
    let mut at = parent.to_owned();
    push_segment(&mut at, "properties");
    schema.source().pointer(&at)?.as_object()
}

/// Returns type and description of a parameter, in parentheses.
fn about(schema: &Value) -> String {
    let allowed = schema.get("enum").map(|values| format!("one of {}", preview(values, 200)));
    let declared = allowed.or_else(|| match schema.get("type") {
        Some(Value::String(name)) => Some(name.clone()),
        Some(Value::Array(names)) => {
            Some(names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "))
        }
        _ => None,
    });
    let description = schema
        .get("description")
        .and_then(Value::as_str)
        .map(|text| shorten(text, 200).into_owned());
    let parts: Vec<String> = declared.into_iter().chain(description).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(": ")) }
}

/// Follows the alternative for which the value was intended, if its type and tags allow only one.
fn alternatives(
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
    schema: &Schema,
    depth: usize,
    lines: &mut Vec<String>,
) {
    let meant: Vec<&Vec<ValidationError<'static>>> =
        branches.iter().filter(|errors| !errors.iter().any(|one| rules_out(one, error))).collect();
    if let [only] = meant.as_slice()
        && depth < MAX_BRANCH_DEPTH
    {
        only.iter().take(MAX_ERRORS).for_each(|one| describe(one, schema, depth + 1, lines));
        return;
    }
    let mut forms: Vec<String> = Vec::new();
    let telling = |errors: &'_ Vec<ValidationError<'static>>| {
        errors.iter().position(|one| rules_out(one, error)).unwrap_or_default()
    };
    for one in branches.iter().filter_map(|errors| errors.get(telling(errors))).take(8) {
        let (expected, _) = expectation(one);
        let place = path(one.instance_path());
        let inner = one.instance_path().as_str() != error.instance_path().as_str();
        let form = if inner { format!("{place} {expected}") } else { expected };
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    let value = error.instance();
    lines.push(format!(
        "{}: expected one of these forms: {}; got {} {}. Send one of them.",
        path(error.instance_path()),
        forms.join("; or "),
        kind_of(value),
        preview(value, 120)
    ));
}

/// Returns whether an error of an alternative shows that the value is of another kind: another type
/// here, or another constant tag in it.
fn rules_out(one: &ValidationError<'_>, of: &ValidationError<'_>) -> bool {
    let here = one.instance_path().as_str() == of.instance_path().as_str();
    match one.kind() {
        Kind::Type { .. } | Kind::Enum { .. } => here,
        Kind::Constant { .. } => true,
        _ => false,
    }
}

/// Returns the expectation of a keyword, and the advice for it.
fn expectation(error: &ValidationError<'_>) -> (String, &'static str) {
    const OTHER: &str = "Send a value that fits.";
    match error.kind() {
        Kind::Type { kind } => types(kind),
        Kind::Enum { options } => {
            (format!("one of {}", preview(options, 400)), "Send one of these values exactly.")
        }
        Kind::Constant { expected_value } => {
            (preview(expected_value, 200), "Send exactly this value.")
        }
        Kind::Minimum { limit } => {
            (format!("a number of at least {limit}"), "Send a larger number.")
        }
        Kind::ExclusiveMinimum { limit } => {
            (format!("a number greater than {limit}"), "Send a larger number.")
        }
        Kind::Maximum { limit } => {
            (format!("a number of at most {limit}"), "Send a smaller number.")
        }
        Kind::ExclusiveMaximum { limit } => {
            (format!("a number less than {limit}"), "Send a smaller number.")
        }
        Kind::MultipleOf { multiple_of } => (format!("a multiple of {multiple_of}"), OTHER),
        Kind::MinLength { limit } => {
            (format!("at least {limit} characters"), "Send a longer text.")
        }
        Kind::MaxLength { limit } => {
            (format!("at most {limit} characters"), "Send a shorter text.")
        }
        Kind::MinItems { limit } => (format!("at least {limit} items"), "Send more items."),
        Kind::MaxItems { limit } => (format!("at most {limit} items"), "Send fewer items."),
        Kind::AdditionalItems { limit } => (format!("at most {limit} items"), "Send fewer items."),
        Kind::MinProperties { limit } => {
            (format!("at least {limit} entries"), "Send more entries.")
        }
        Kind::MaxProperties { limit } => {
            (format!("at most {limit} entries"), "Send fewer entries.")
        }
        Kind::UniqueItems => ("items that all differ".to_owned(), "Send each item once."),
        Kind::Pattern { pattern } => (
            format!("text that matches the pattern {}", shorten(pattern, 200)),
            "Send text of that form.",
        ),
        Kind::Format { format } => {
            (format!("text in the format {}", shorten(format, 60)), format_advice(format))
        }
        Kind::Required { property } => {
            (format!("the parameter {}", preview(property, 80)), "Add it.")
        }
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => {
            ("no other parameters".to_owned(), "Leave the others out.")
        }
        Kind::FalseSchema => ("no value here".to_owned(), "Leave it out."),
        Kind::OneOfMultipleValid { .. } => (
            "a value of exactly one of the allowed forms, and it fits several".to_owned(),
            "Make it fit one only.",
        ),
        Kind::Not { schema } => {
            (format!("a value that does not fit {}", preview(schema, 200)), OTHER)
        }
        Kind::PropertyNames { error } => {
            let (expected, advice) = expectation(error);
            (format!("names that are {expected}"), advice)
        }
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            ("one of several forms".to_owned(), OTHER)
        }
        _ => (
            shorten(&format!("a value that passes {:?}", error.kind().keyword()), 200).into_owned(),
            OTHER,
        ),
    }
}

fn types(kind: &TypeKind) -> (String, &'static str) {
    let names: Vec<String> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(set) => set.iter().map(|one| one.to_string()).collect(),
    };
    let advice = match names.as_slice() {
        [one] => match one.as_str() {
            "integer" => "Send a whole number without quotes.",
            "number" => "Send a number without quotes.",
            "boolean" => "Send true or false without quotes.",
            "string" => "Send text in double quotes.",
            "array" => "Send a JSON array, such as [\"a\", \"b\"].",
            "object" => "Send a JSON object, such as {\"name\": \"value\"}.",
            _ => "Send null.",
        },
        _ => "Send a value of one of these types.",
    };
    (names.join(" or "), advice)
}

fn format_advice(format: &str) -> &'static str {
    match format {
        "date-time" => "Send a time such as 2025-01-31T09:30:00Z.",
        "date" => "Send a date such as 2025-01-31.",
        "time" => "Send a time such as 09:30:00Z.",
        "uri" | "iri" => "Send a complete address with its scheme, such as https://example.com/.",
        "email" => "Send an address such as name@example.com.",
        _ => "Send text of that format.",
    }
}

/// Renders a path in the usual notation, such as `options.items[2]`; `arguments` for the whole.
fn path(location: &Location) -> String {
    let path = inner_path(location);
    if path.is_empty() { "arguments".to_owned() } else { path }
}

/// Renders the same, but empty for the whole.
fn inner_path(location: &Location) -> String {
    let mut out = String::new();
    for segment in location.segments() {
        match segment {
            LocationSegment::Property(name) => out = join(&out, &name),
            LocationSegment::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
        }
        if out.len() > 400 {
            out.push('…');
            break;
        }
    }
    out
}

fn join(parent: &str, name: &str) -> String {
    let name = plain(name);
    if parent.is_empty() {
        name
    } else if name.starts_with('"') {
        format!("{parent}[{name}]")
    } else {
        format!("{parent}.{name}")
    }
}

/// Renders a name, without quotes if it is unambiguous.
fn plain(name: &str) -> String {
    let name = shorten(name, 80);
    let clear = !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@'));
    if clear { name.into_owned() } else { format!("{name:?}") }
}
