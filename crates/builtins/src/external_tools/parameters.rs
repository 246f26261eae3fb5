//! Converts `parameters` of a tool definition to the JSON Schema of its arguments.
//!
//! Three forms: JSON Schema as a table, the same as a JSON string, and the short form, in which
//! every key is a parameter:
//!
//! ```toml
//! city   = "string: Where, such as Vienna"     # a type, and after a colon the description
//! days   = "integer?"                          # "?" = optional
//! tags   = "string[]"                          # an array of these
//! unit   = ["c", "f"]                          # one of these; optional as "unit?" = ["c", "f"]
//! # JSON Schema of one parameter; optional with `required = false` or a default
//! limit  = { type = "integer", maximum = 10, default = 3 }
//! ```
//!
//! It is JSON Schema if it has a table `properties`, or `type = "object"`.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value, json};

use super::DefinitionError;
use super::toml_keys::{self, hint};

/// The types of JSON Schema except `null`.
const TYPES: &[&str] = &["string", "integer", "number", "boolean", "array", "object"];

/// Converts the parameters to the schema of the arguments; a tool without `parameters` takes none.
pub(super) fn schema(parameters: Option<toml::Value>) -> Result<Value, DefinitionError> {
    let given = match parameters {
        None => json!({}),
        Some(toml::Value::String(text)) => serde_json::from_str(&text)
            .map_err(|error| DefinitionError::new(format!("the text is not JSON: {error}")))?,
        Some(table) => toml_keys::json(table)?,
    };
    match given {
        Value::Object(map) if is_schema(&map) => Ok(whole(map)),
        Value::Object(map) => short(map),
        _ => Err(DefinitionError::new("a table, or a JSON object as a text, is needed")),
    }
}

fn is_schema(map: &Map<String, Value>) -> bool {
    map.get("properties").is_some_and(is_table_of_schemas)
        || map.get("type").is_some_and(|t| t == "object")
}

/// Returns whether all properties are schemas. In the short form, a parameter may be named
/// `properties`; then its keys are JSON Schema keywords, not schemas.
fn is_table_of_schemas(properties: &Value) -> bool {
    properties
        .as_object()
        .is_some_and(|map| map.values().all(|value| value.is_object() || value.is_boolean()))
}

fn whole(mut map: Map<String, Value>) -> Value {
    map.entry("type").or_insert_with(|| json!("object"));
    map.entry("properties").or_insert_with(|| json!({}));
    Value::Object(map)
}

fn short(parameters: Map<String, Value>) -> Result<Value, DefinitionError> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (key, value) in parameters {
        let (name, optional_key) = optional(&key);
        let parameter =
            parameter(value).map_err(|fault| fault.at(format!("parameter {name:?}")))?;
        if name.is_empty() {
            return Err(DefinitionError::new("a parameter has no name"));
        }
        if properties.insert(name.to_owned(), parameter.schema).is_some() {
            return Err(DefinitionError::new(format!("parameter {name:?} is there twice")));
        }
        if parameter.required && !optional_key {
            required.push(Value::from(name));
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if let Some(map) = schema.as_object_mut() {
        if !required.is_empty() {
            map.insert("required".to_owned(), Value::Array(required));
        }
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Ok(schema)
}

struct Parameter {
    schema: Value,
    required: bool,
}

fn parameter(value: Value) -> Result<Parameter, DefinitionError> {
    match value {
        Value::String(text) => from_text(&text),
        Value::Array(choices) => one_of(choices),
        Value::Object(map) => from_table(map),
        other => Err(DefinitionError::new(format!(
            "a type such as \"string\", an array of choices or a table is needed, not {other}"
        ))),
    }
}

/// Strips the mark from `name?`.
fn optional(text: &str) -> (&str, bool) {
    text.strip_suffix('?').map_or((text, false), |text| (text.trim_end(), true))
}

fn from_text(text: &str) -> Result<Parameter, DefinitionError> {
    let (form, about) =
        text.split_once(':').map_or((text, None), |(form, about)| (form, Some(about.trim())));
    let (form, is_optional) = optional(form.trim());
    let mut schema = match form.strip_suffix("[]") {
        Some(item) => json!({"type": "array", "items": {"type": type_name(item)?}}),
        None => json!({"type": type_name(form)?}),
    };
    if let (Some(map), Some(about)) = (schema.as_object_mut(), about.filter(|a| !a.is_empty())) {
        map.insert("description".to_owned(), about.into());
    }
    Ok(Parameter { schema, required: !is_optional })
}

fn type_name(name: &str) -> Result<&str, DefinitionError> {
    if TYPES.contains(&name) {
        return Ok(name);
    }
    Err(DefinitionError::new(format!("{name:?} is not a type{}", hint(name, TYPES))))
}

fn one_of(choices: Vec<Value>) -> Result<Parameter, DefinitionError> {
    if choices.is_empty() {
        return Err(DefinitionError::new("there are no choices"));
    }
    let kind = |is: fn(&Value) -> bool| choices.iter().all(is);
    let name = if kind(Value::is_string) {
        "string"
    } else if kind(Value::is_i64) {
        "integer"
    } else if kind(Value::is_number) {
        "number"
    } else {
        return Err(DefinitionError::new("the choices must be all texts or all numbers"));
    };
    Ok(Parameter { schema: json!({"type": name, "enum": choices}), required: true })
}

/// Parses the JSON Schema of one parameter, with `required` as a flag and a type that may end in
/// `?`.
fn from_table(mut map: Map<String, Value>) -> Result<Parameter, DefinitionError> {
    let mut required = !map.contains_key("default");
    if let Some(Value::Bool(flag)) = map.get("required") {
        required = *flag;
        map.remove("required");
    }
    if let Some(Value::String(kind)) = map.get("type") {
        let (kind, is_optional) = optional(kind);
        let kind = Value::from(type_name(kind)?);
        required &= !is_optional;
        map.insert("type".to_owned(), kind);
    }
    Ok(Parameter { schema: Value::Object(map), required })
}
