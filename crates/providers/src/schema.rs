//! Schema conversion: JSON Schema 2020-12 to each provider's dialect, with a list of losses.
//!
//! Arguments are always validated against the full schema. A keyword that a provider does not
//! support is therefore moved into the description for the model and reported as a [`Loss`]; the
//! declared schema may be looser than the real one, never different.

mod gemini;
mod import_schema;
mod local_refs;
mod non_strict;
mod strict;

use serde_json::{Map, Value};

use crate::parse_error::truncate;

pub use gemini::convert as gemini;
pub use import_schema::{from_gemini, from_strict};
pub use non_strict::{NonStrict, convert as plain};
pub use strict::{Strict, convert as strict};

/// Maximum converted levels of a schema; deeper ones are only described.
const MAX_DEPTH: usize = 32;
/// Limit of nodes of a converted schema: expanded references must not grow without bound (OpenAI
/// accepts 5,000 properties).
const MAX_NODES: usize = 5_000;

/// One constraint that the converted schema does not express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Its position, as a JSON pointer into the original schema.
    pub path: String,
    /// The constraint and how it was handled.
    pub message: String,
}

impl Loss {
    fn new(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), message: message.into() }
    }
}

/// A converted schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedSchema {
    /// The schema; null for a function without parameters (Gemini).
    pub schema: Value,
    /// Sentences for the tool's description, for constraints of the root.
    pub about: Vec<String>,
    /// The losses.
    pub losses: Vec<Loss>,
    /// Whether it may be sent with `strict: true`.
    pub strict: bool,
}

/// Keywords that do not constrain a value and may be dropped.
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

/// Formats a keyword as text: `uniqueItems: true`.
fn keyword_text(keyword: &str, value: &Value) -> String {
    format!("{keyword}: {}", truncate(&value.to_string(), 300))
}

/// Appends text to a node's description.
fn describe(node: &mut Map<String, Value>, words: &str) {
    let text = match node.get("description").and_then(Value::as_str) {
        Some(old) if !old.is_empty() => format!("{old} ({words})"),
        _ => format!("({words})"),
    };
    node.insert("description".to_owned(), text.into());
}

/// Moves a keyword into the description and reports a loss.
fn move_to_description(
    node: &mut Map<String, Value>,
    keyword: &str,
    value: &Value,
    path: &str,
    losses: &mut Vec<Loss>,
) {
    describe(node, &keyword_text(keyword, value));
    losses.push(Loss::new(path, format!("`{keyword}` was moved into the description")));
}

/// Appends a name to a JSON pointer.
fn pointer(path: &str, key: &str) -> String {
    if key.contains(['~', '/']) {
        return format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
    }
    [path, "/", key].concat()
}

/// Returns whether the schema accepts null.
fn admits_null(schema: &Value) -> bool {
    schema.as_object().map_or_else(|| schema.as_bool().unwrap_or(false), object_admits_null)
}

/// Returns whether the object schema accepts null.
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

/// Returns the common type of all values, if there is one.
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
