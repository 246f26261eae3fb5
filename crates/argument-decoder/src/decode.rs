//! The two entry points (arguments as text, arguments as a value) and their result.
#![deny(clippy::indexing_slicing)]

use serde::Serialize;
use serde_json::{Map, Value};

use super::changes::{Change, ChangeKind, Changes};
use super::error_message;
use super::fit_to_schema::{Coercer, remove_defaults};
use super::schema::Schema;
use super::schema_plan::ROOT;
use super::unwrap_text::{self, Content};
use super::value_preview::{kind_of, preview};
use super::value_size::{depth_of, value_size};

/// Outer names in which models and gateways wrap the parameters.
const WRAPPERS: [&str; 4] = ["arguments", "parameters", "input", "args"];

/// Keys beside them that contain the name of the tool.
const CALL_NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];

/// Limits for one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of bytes.
    pub max_bytes: usize,
    /// Maximum nesting; values above 100 are treated as 100, for which the stack is sized.
    pub max_depth: usize,
}

impl Limits {
    /// 16 MiB, so that a string of 10 MB fits with its escapes, and 100 levels.
    pub const DEFAULT: Self = Self { max_bytes: 16 * 1024 * 1024, max_depth: 100 };

    fn bounded(self) -> Self {
        Self { max_depth: self.max_depth.min(Self::DEFAULT.max_depth), ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The result of decoding. Serializes as `{"outcome": "ok", "value": ...}` and so on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Decoded {
    /// Valid as written.
    Ok {
        /// The arguments: an object with defaults filled in.
        value: Value,
        /// Sentences for the model about parameters that the schema does not define.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    /// Valid after the listed changes.
    Repaired {
        /// The arguments: an object with defaults filled in.
        value: Value,
        /// The changes, in order; never empty.
        changes: Vec<Change>,
        /// Sentences for the model about parameters that the schema does not define.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    /// JSON that does not match the schema of the tool.
    ValidationError {
        /// For the model: path, expected and actual value, and advice; under
        /// [`super::MAX_MESSAGE_BYTES`].
        #[serde(rename = "error")]
        message: String,
    },
    /// Not JSON, and not repairable without ambiguity.
    ParseError {
        /// For the model: place, text found, and advice.
        #[serde(rename = "error")]
        message: String,
    },
}

impl Decoded {
    /// Returns the arguments, unless decoding failed.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Ok { value, .. } | Self::Repaired { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// Decodes the text of a model. Empty or blank text is `{}`. Never panics, for any bytes.
///
/// ```
/// use serde_json::json;
/// use toolcrib_argument_decoder::{Decoded, Limits, Schema, decode};
///
/// let schema = Schema::check(&json!({"properties": {"n": {"type": "integer"}}})).unwrap();
/// let strict = decode(r#"{"n": 1}"#, &schema, &Limits::DEFAULT);
/// assert!(matches!(strict, Decoded::Ok { .. }));
/// let repaired = decode("{n: '1'}", &schema, &Limits::DEFAULT);
/// assert!(matches!(&repaired, Decoded::Repaired { changes, .. } if changes.len() == 3));
/// assert_eq!(repaired.value(), strict.value());
/// ```
#[must_use]
pub fn decode(raw: impl AsRef<[u8]>, schema: &Schema, limits: &Limits) -> Decoded {
    let raw = raw.as_ref();
    let limits = limits.bounded();
    let mut changes = Changes::default();
    match unwrap_text::unwrap_text(raw, &limits, &mut changes) {
        Err(message) => Decoded::ParseError { message },
        Ok(Content::Other(value)) => not_an_object(&value),
        Ok(Content::OutOfRange(message)) => Decoded::ValidationError { message },
        Ok(Content::Object(map, depth)) => check(map, depth, raw.len(), schema, &limits, changes),
    }
}

/// Decodes arguments that the provider sends as a value. A string is read as text; `null` is `{}`.
/// Information that the provider's parser lost (duplicate keys, digits of long numbers) cannot be
/// restored.
///
/// ```
/// use serde_json::json;
/// use toolcrib_argument_decoder::{Limits, Schema, decode_value};
///
/// let schema = Schema::check(&json!({"properties": {"tags": {"type": "array"}}})).unwrap();
/// let decoded = decode_value(json!({"tags": "new"}), &schema, &Limits::DEFAULT);
/// assert_eq!(decoded.value(), Some(&json!({"tags": ["new"]})));
/// ```
#[must_use]
pub fn decode_value(value: Value, schema: &Schema, limits: &Limits) -> Decoded {
    let limits = limits.bounded();
    let mut changes = Changes::default();
    match value {
        Value::String(text) => decode(text, schema, &limits),
        Value::Null => {
            changes.add(ChangeKind::NullArguments, || {
                (String::new(), "null was read as no arguments".to_owned())
            });
            check(Map::new(), 0, 0, schema, &limits, changes)
        }
        Value::Object(map) => {
            let value = Value::Object(map);
            let depth = depth_of(&value, limits.max_depth);
            let bytes = if depth > limits.max_depth { 0 } else { size_of_text(&value) };
            let Value::Object(map) = value else { return not_an_object(&value) };
            check(map, depth, bytes, schema, &limits, changes)
        }
        other => not_an_object(&other),
    }
}

/// Returns the approximate number of bytes of the value as text.
fn size_of_text(value: &Value) -> usize {
    value_size(value, usize::MAX).unwrap_or_default().saturating_mul(8)
}

fn not_an_object(value: &Value) -> Decoded {
    let shown = if value.is_array() { String::new() } else { format!(" {}", preview(value, 100)) };
    Decoded::ValidationError {
        message: format!(
            "The arguments must be one JSON object, and {}{shown} was sent. Send an object such as {{\"name\": \"value\"}}, or {{}} for no arguments.",
            kind_of(value)
        ),
    }
}

fn check(
    map: Map<String, Value>,
    depth: usize,
    bytes: usize,
    schema: &Schema,
    limits: &Limits,
    mut changes: Changes,
) -> Decoded {
    let deepest = limits.max_depth.min(schema.max_depth());
    if depth > deepest {
        return Decoded::ValidationError {
            message: format!(
                "The arguments are nested deeper than the {deepest} levels that this tool can check. Send a flatter object."
            ),
        };
    }
    let validator = match schema.validator() {
        Ok(validator) => validator,
        Err(error) => {
            return Decoded::ValidationError {
                message: format!(
                    "This tool cannot be called: {error}. Use another tool and tell the user."
                ),
            };
        }
    };
    let mut map = unwrap(map, schema, &mut changes);
    if let Err(message) = rename(&mut map, schema, &mut changes) {
        return Decoded::ValidationError { message };
    }
    let mut value = Value::Object(map);
    let valid = validator.is_valid(&value);
    let mut fit = Coercer::new(schema, bytes, deepest, changes);
    fit.root(&mut value, !valid);
    let touched = fit.touched();
    let (changes, warnings, defaults) = fit.finish();
    if (touched || !valid) && !validator.is_valid(&value) {
        // A default can violate a rule about the whole object; the tool then receives the arguments
        // as sent.
        remove_defaults(&mut value, &defaults);
        if defaults.is_empty() || !validator.is_valid(&value) {
            return Decoded::ValidationError {
                message: error_message::render(validator, &value, schema),
            };
        }
    }
    if changes.is_empty() {
        Decoded::Ok { value, warnings }
    } else {
        Decoded::Repaired { value, changes: changes.finish(), warnings }
    }
}

/// Renames parameters that were sent under another of their names to the name in the schema. A
/// parameter sent under both names must have equal values.
fn rename(
    map: &mut Map<String, Value>,
    schema: &Schema,
    changes: &mut Changes,
) -> Result<(), String> {
    for (alias, name) in schema.aliases() {
        let Some(value) = map.get(alias) else { continue };
        if let Some(own) = map.get(name).filter(|own| *own != value) {
            return Err(format!(
                "{name:?} and {alias:?} are one parameter, and they were sent with different values ({} and {}). Send {name:?} only.",
                preview(own, 100),
                preview(value, 100)
            ));
        }
        if let Some(value) = map.shift_remove(alias) {
            map.insert(name.clone(), value);
        }
        changes.add(ChangeKind::Renamed, || {
            (format!("/{name}"), format!("{alias:?} was read as {name:?}, the parameter's name"))
        });
    }
    Ok(())
}

/// Unwraps `{"arguments": {...}}`, also with the tool's name beside it or as the outer name, if the
/// outer name is not a parameter and the inner names all are.
fn unwrap(
    mut map: Map<String, Value>,
    schema: &Schema,
    changes: &mut Changes,
) -> Map<String, Value> {
    let Some(outer) = outer_name(&map, schema) else { return map };
    let plan = schema.plan();
    if !plan.names_any(ROOT) || plan.knows(ROOT, &outer) || plan.takes_others(ROOT) {
        return map;
    }
    let parsed = match map.get(&outer) {
        Some(Value::String(text)) => {
            super::parser::parse_strict(text, Limits::DEFAULT.max_depth - 1)
        }
        _ => None,
    };
    let inner = parsed.as_ref().or_else(|| map.get(&outer)).and_then(Value::as_object);
    if !inner.is_some_and(|inner| inner.keys().all(|key| plan.knows(ROOT, key))) {
        return map;
    }
    changes.add(ChangeKind::Unwrapped, || {
        (String::new(), format!("the parameters stood inside {outer:?} and were taken out of it"))
    });
    match parsed.or_else(|| map.remove(&outer)) {
        Some(Value::Object(inner)) => inner,
        _ => map,
    }
}

/// Returns the name around the parameters, if the object contains nothing but the name of this
/// tool.
fn outer_name(map: &Map<String, Value>, schema: &Schema) -> Option<String> {
    let is_tool = |name: &str| schema.name().is_some_and(|own| own == name);
    let mut outer = None;
    for (key, value) in map {
        let names_tool = CALL_NAMES.contains(&key.as_str());
        if names_tool && value.as_str().is_some_and(is_tool) {
            continue;
        }
        // `{"type": "function", ...}`
        if key == "type" && map.len() > 2 && matches!(value.as_str(), Some("function" | "tool_use"))
        {
            continue;
        }
        let is_outer = WRAPPERS.contains(&key.as_str()) || (map.len() == 1 && is_tool(key));
        if !is_outer || outer.replace(key.clone()).is_some() {
            return None;
        }
    }
    outer
}
