//! Tests of the complete decoder, and their shared helpers.

mod bounds;
mod conversions;
mod messages;
mod properties;
mod repairs;
mod schemas;

use serde_json::{Value, json};

use super::{ChangeKind, Decoded, Limits, Schema, decode};

/// Returns a schema that accepts any object.
fn open() -> Schema {
    schema(json!({"type": "object"}))
}

fn schema(document: Value) -> Schema {
    Schema::check(&document).expect("the schema of a test is right")
}

fn run(text: &str, schema: &Schema) -> Decoded {
    decode(text, schema, &Limits::DEFAULT)
}

/// The kinds of change, in order.
fn kinds(decoded: &Decoded) -> Vec<ChangeKind> {
    match decoded {
        Decoded::Repaired { changes, .. } => changes.iter().map(|change| change.kind).collect(),
        _ => Vec::new(),
    }
}

/// Checks that `text` is valid as written.
#[track_caller]
fn ok(text: &str, schema: &Schema, expected: Value) {
    match run(text, schema) {
        Decoded::Ok { value, .. } => assert_eq!(value, expected, "{text}"),
        other => panic!("{text}: {other:?}"),
    }
}

/// Checks that `text` is repaired by changes of exactly these kinds.
#[track_caller]
fn repaired(text: &str, schema: &Schema, expected: Value, expected_kinds: &[ChangeKind]) {
    let decoded = run(text, schema);
    assert_eq!(decoded.value(), Some(&expected), "{text}: {decoded:?}");
    assert_eq!(kinds(&decoded), expected_kinds, "{text}: {decoded:?}");
}

/// Checks that `text` is a parse error whose message contains all of `parts`.
#[track_caller]
fn unreadable(text: impl AsRef<[u8]>, parts: &[&str]) {
    let text = text.as_ref();
    match decode(text, &open(), &Limits::DEFAULT) {
        Decoded::ParseError { message } => holds(&message, parts),
        other => panic!("{}: {other:?}", String::from_utf8_lossy(text)),
    }
}

/// Checks that the schema rejects `text` with a message that contains all of `parts`.
#[track_caller]
fn refused(text: &str, schema: &Schema, parts: &[&str]) -> String {
    match run(text, schema) {
        Decoded::ValidationError { message } => {
            holds(&message, parts);
            message
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[track_caller]
fn holds(message: &str, parts: &[&str]) {
    assert!(message.len() <= super::MAX_MESSAGE_BYTES, "{} bytes", message.len());
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
}
