//! Converts a provider's schema dialect back to JSON Schema.

use serde_json::{Map, Value, json};

use super::{admits_null, pointer};

/// Undoes OpenAI's strict mode: a required nullable property was optional. Objects stay closed.
pub fn from_strict(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    let mut optional = Vec::new();
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            from_strict(property);
            if admits_null(property) {
                drop_null(property);
                optional.push(name.clone());
            }
        }
    }
    if let Some(Value::Array(required)) = map.get_mut("required") {
        required.retain(|name| name.as_str().is_none_or(|n| !optional.iter().any(|o| o == n)));
        if required.is_empty() {
            map.shift_remove("required");
        }
    }
    if let Some(items) = map.get_mut("items") {
        from_strict(items);
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.iter_mut().for_each(from_strict);
    }
}

fn drop_null(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    if let Some(Value::Array(kinds)) = map.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = map.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.retain(|branch| *branch != json!({"type": "null"}));
    }
}

/// Converts a schema in Gemini's subset: types in lower case, `nullable` as a type.
#[must_use]
pub fn from_gemini(schema: &Value) -> Value {
    convert(schema, "")
}

fn convert(schema: &Value, path: &str) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in map {
        let value = match (key.as_str(), value) {
            ("type", Value::String(kind)) => kind.to_lowercase().into(),
            ("properties", Value::Object(properties)) => {
                let at = pointer(path, key);
                let converted = properties
                    .iter()
                    .map(|(name, inner)| (name.clone(), convert(inner, &pointer(&at, name))));
                Value::Object(converted.collect())
            }
            ("items", inner) => convert(inner, path),
            ("anyOf", Value::Array(branches)) => {
                branches.iter().map(|branch| convert(branch, path)).collect()
            }
            ("nullable" | "propertyOrdering", _) => continue,
            (_, value) => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    if map.get("nullable").is_some_and(|n| *n == Value::Bool(true)) {
        add_null(&mut out);
    }
    Value::Object(out)
}

fn add_null(map: &mut Map<String, Value>) {
    if let Some(kind) = map.get("type").cloned() {
        map.insert("type".to_owned(), json!([kind, "null"]));
    }
    if let Some(Value::Array(choices)) = map.get_mut("enum") {
        choices.push(Value::Null);
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.push(json!({"type": "null"}));
    }
}
