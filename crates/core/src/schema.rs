//! JSON Schema of Rust types, in the plain form that models follow best.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Returns the schema of `T`: everything inlined, no `$schema`, titles or integer formats. An
/// optional field is omitted from `required`; its null variant is dropped, because null is decoded
/// as absent anyway.
#[must_use]
pub fn for_type<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        root.remove("description");
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            // A title is a text; in `properties` it is a field of that name with its schema.
            if map.get("title").is_some_and(Value::is_string) {
                map.remove("title");
            }
            if map.get("format").is_some_and(is_rust_number_format) {
                map.remove("format");
            }
            drop_null(map);
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            for (key, inner) in map.iter_mut() {
                if !matches!(key.as_str(), "default" | "enum" | "const" | "examples") {
                    simplify(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

fn is_rust_number_format(format: &Value) -> bool {
    matches!(
        format.as_str(),
        Some(
            "uint"
                | "int"
                | "uint8"
                | "uint16"
                | "uint32"
                | "uint64"
                | "int8"
                | "int16"
                | "int32"
                | "int64"
                | "double"
                | "float"
        )
    )
}

/// Replaces `["string", "null"]` by `"string"`, removes null from enums, and replaces `anyOf: [T,
/// null]` by `T`.
fn drop_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = map.get_mut("enum") {
        choices.retain(|c| !c.is_null());
    }
    let Some(Value::Array(branches)) = map.get_mut("anyOf") else { return };
    branches.retain(|b| b.get("type").is_none_or(|t| t != "null"));
    if let [Value::Object(only)] = branches.as_slice() {
        let only = only.clone();
        map.remove("anyOf");
        for (key, value) in only {
            map.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Mode {
        Overwrite,
        Append,
    }

    /// Not shown: the tool's description contains it.
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Args {
        /// The path.
        path: String,
        /// How many.
        limit: Option<u32>,
        /// How.
        #[serde(default)]
        mode: Option<Mode>,
        /// Its title.
        title: Option<String>,
    }

    #[test]
    fn schemas_are_plain() {
        assert_eq!(
            for_type::<Args>(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "The path.", "type": "string"},
                    "limit": {"description": "How many.", "type": "integer", "minimum": 0},
                    "mode": {"description": "How.", "type": "string", "enum": ["overwrite", "append"]},
                    // A field of this name, not the title of a schema.
                    "title": {"description": "Its title.", "type": "string"}
                },
                "required": ["path"]
            })
        );
    }
}
