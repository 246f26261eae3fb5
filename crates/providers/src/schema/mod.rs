//! Schema portability: JSON Schema 2020-12 to what each provider takes, with a list of what was lost on the way.
//!
//! The full schema always stays here, and arguments are validated against it. So a keyword that a provider does not know is said in the
//! description, for the model, and listed as a [`Loss`], for people; the declared schema may be looser than the real one, never different.

mod gemini;
mod plain;
mod refs;
mod strict;
mod undo;

use serde_json::{Map, Value};

use crate::error::shorten;

pub use gemini::port as gemini;
pub use plain::{Plain, port as plain};
pub use strict::{Strict, port as strict};
pub use undo::{from_gemini, undo_strict};

/// Levels of a schema that are converted; what lies deeper is described.
const MAX_DEPTH: usize = 32;
/// Nodes of a converted schema: references are written out, and must not multiply without end (OpenAI takes 5,000 properties).
const MAX_NODES: usize = 5_000;

/// One thing that a provider's form of a schema does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Where, as a JSON pointer into the original schema.
    pub path: String,
    /// What, and what was done about it.
    pub message: String,
}

impl Loss {
    fn new(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), message: message.into() }
    }
}

/// A schema in a provider's form.
#[derive(Debug, Clone, PartialEq)]
pub struct Ported {
    /// The schema; null where a function without parameters has none (Gemini).
    pub schema: Value,
    /// Sentences for the tool's description, about what the root of the schema cannot say.
    pub about: Vec<String>,
    /// What was lost.
    pub losses: Vec<Loss>,
    /// Whether it may be sent with `strict: true`.
    pub strict: bool,
}

/// Keywords that say nothing about a value and may go unsaid.
const SILENT: [&str; 8] = [
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
    "$defs",
    "definitions",
];

/// A keyword in words: `uniqueItems: true`.
fn in_words(keyword: &str, value: &Value) -> String {
    format!("{keyword}: {}", shorten(&value.to_string(), 300))
}

/// Adds words to a node's description.
fn describe(node: &mut Map<String, Value>, words: &str) {
    let text = match node.get("description").and_then(Value::as_str) {
        Some(old) if !old.is_empty() => format!("{old} ({words})"),
        _ => format!("({words})"),
    };
    node.insert("description".to_owned(), text.into());
}

/// Moves a keyword into the description and says so.
fn move_out(
    node: &mut Map<String, Value>,
    keyword: &str,
    value: &Value,
    path: &str,
    losses: &mut Vec<Loss>,
) {
    describe(node, &in_words(keyword, value));
    losses.push(Loss::new(path, format!("`{keyword}` was moved into the description")));
}

/// A name as a part of a JSON pointer.
fn pointer(path: &str, key: &str) -> String {
    if key.contains(['~', '/']) {
        return format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
    }
    [path, "/", key].concat()
}

/// Whether the schema lets null through.
fn admits_null(schema: &Value) -> bool {
    schema.as_object().map_or_else(|| schema.as_bool().unwrap_or(false), object_admits_null)
}

/// Whether the schema, an object, lets null through.
fn object_admits_null(object: &Map<String, Value>) -> bool {
    let by_type = match object.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => true,
    };
    let by_choice = match (object.get("enum"), object.get("const")) {
        (Some(Value::Array(choices)), _) => choices.iter().any(Value::is_null),
        (_, Some(only)) => only.is_null(),
        _ => true,
    };
    let branches = |key: &str| match object.get(key) {
        Some(Value::Array(branches)) => branches.iter().any(admits_null),
        _ => true,
    };
    by_type && by_choice && branches("anyOf") && branches("oneOf")
}

/// The type that all these values have, if they have one.
fn common_type(values: &[Value]) -> Option<&'static str> {
    let kind = |value: &Value| match value {
        Value::String(_) => Some("string"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(n) if n.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        _ => None,
    };
    let mut kinds = values.iter().filter(|v| !v.is_null()).map(kind);
    let first = kinds.next()??;
    kinds.all(|k| k == Some(first)).then_some(first)
}
