//! `argument_decoder::decode`: the result fits the schema, reports its changes, and is never
//! another value than the one that was written.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use toolcrib_argument_decoder::{Decoded, Limits, MAX_MESSAGE_BYTES, Schema, decode};

/// Schemas without defaults, so that a value that is right as written comes out as it was.
static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let all = [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {
            "path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "ratio": {"type": "number"}, "deep": {"type": "boolean"}, "mode": {"enum": ["overwrite", "append"]},
            "tags": {"type": "array", "items": {"type": "string"}}, "options": {"type": "object"}},
            "required": ["path"], "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"},
            {"type": "array", "items": {"$ref": "#/$defs/node"}}]}},
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}}}),
        json!({"type": "object", "properties": {"when": {"type": "string", "format": "date"}, "id": {"type": "string",
            "pattern": "^[a-z]{1,8}$"}, "x": {"oneOf": [{"type": "string"}, {"type": "number"}]}}, "minProperties": 1}),
    ];
    all.iter().map(|schema| Schema::check(schema).expect("a good schema")).collect()
});

fuzz_target!(|input: &[u8]| {
    let Some((&choice, raw)) = input.split_first() else { return };
    let schemas = &*SCHEMAS;
    let schema = &schemas[usize::from(choice) % schemas.len()];
    match decode(raw, schema, &Limits::DEFAULT) {
        Decoded::Ok { value, .. } => {
            judge(&value, schema);
            let written = std::str::from_utf8(raw).expect("text");
            if !written.trim().is_empty() {
                let read: Value = serde_json::from_str(written).expect("JSON, right as written");
                assert_eq!(read, value, "changed without a word");
            }
        }
        Decoded::Repaired { value, changes, .. } => {
            judge(&value, schema);
            assert!(!changes.is_empty(), "repaired, but nothing is said");
        }
        Decoded::ValidationError { message } | Decoded::ParseError { message } => {
            assert!(!message.is_empty() && message.len() <= MAX_MESSAGE_BYTES);
        }
    }
});

/// It fits, and written out again it is right as written.
fn judge(value: &Value, schema: &Schema) {
    assert!(value.is_object());
    assert!(schema.validator().expect("compiles").is_valid(value), "{value} does not fit");
    let again = decode(value.to_string(), schema, &Limits::DEFAULT);
    assert!(
        matches!(&again, Decoded::Ok { value: same, .. } if same == value),
        "{value}: {again:?}"
    );
}
