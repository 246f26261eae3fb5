//! Examples generated from schemas: the smallest body with all required fields.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value, json};

/// Maximum depth of nested schemas.
const DEPTH: usize = 8;

/// Resolves a reference.
pub(super) fn resolved<'a>(schema: &'a Value, document: &'a Value) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let schemas = document.pointer("/components/schemas");
    name.and_then(|name| schemas?.get(name)).unwrap_or(schema)
}

/// Returns a value that matches the schema.
pub(super) fn example_for(schema: &Value, document: &Value) -> Value {
    value("", schema, document, 0)
}

fn value(name: &str, schema: &Value, document: &Value, depth: usize) -> Value {
    let schema = resolved(schema, document);
    if depth > DEPTH {
        return Value::Null;
    }
    let first = |list: &str| schema.get(list).and_then(Value::as_array).and_then(|all| all.first());
    if let Some(fixed) = schema.get("const").or_else(|| first("enum")) {
        return fixed.clone();
    }
    if let Some(one) = first("oneOf").or_else(|| first("anyOf")).or_else(|| first("allOf")) {
        return value(name, one, document, depth + 1);
    }
    match kind(schema).as_str() {
        "object" => object(schema, document, depth),
        "array" => match schema.get("items") {
            Some(items) => json!([value(name, items, document, depth + 1)]),
            None => json!([]),
        },
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        "boolean" => json!(true),
        "null" => Value::Null,
        "string" => json!(text(name)),
        _ => json!({}),
    }
}

/// Returns the names of the required members.
pub(super) fn required_names(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

fn object(schema: &Value, document: &Value, depth: usize) -> Value {
    let required = required_names(schema);
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let needed = fields.filter(|(name, _)| required.contains(&name.as_str()));
    let members: Map<String, Value> = needed
        .map(|(name, schema)| (name.clone(), value(name, schema, document, depth + 1)))
        .collect();
    Value::Object(members)
}

/// Returns the type; if there are several, the first one other than null.
pub(super) fn kind(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.filter(|kind| *kind != "null").map(str::to_owned).next().unwrap_or_default()
        }
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => String::new(),
    }
}

/// Returns an example text for a field with a known name.
fn text(name: &str) -> &'static str {
    match name {
        "tool" => "get_current_time",
        "name" => "example",
        "rule" => "Bash(git push:*)",
        "text" => "What time is it?",
        "decision" => "approve",
        "path" => "notes.txt",
        _ => "…",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_must_be_there_is() {
        let document = json!({"components": {"schemas": {
            "Effect": {"enum": ["allow", "deny"]},
            "Rule": {"type": "object", "required": ["effect", "rule", "many"], "properties": {
                "effect": {"$ref": "#/components/schemas/Effect"},
                "rule": {"type": "string"},
                "many": {"type": "array", "items": {"type": ["integer", "null"], "minimum": 3}},
                "more": {"type": "string"},
            }},
            "Loop": {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/components/schemas/Loop"}}},
        }}});
        let example = example_for(&json!({"$ref": "#/components/schemas/Rule"}), &document);
        assert_eq!(example, json!({"effect": "allow", "rule": "Bash(git push:*)", "many": [3]}));
        assert!(example_for(&json!({"$ref": "#/components/schemas/Loop"}), &document).is_object());
        assert_eq!(example_for(&json!({}), &document), json!({}));
    }
}
