//! The JSON of a command: the document of the REST API, with the members that only the command has.

use serde::Serialize;
use serde_json::{Value, json};

/// Adds the command's members to the document. The document has precedence.
pub(crate) fn with_members(document: &impl Serialize, own: Value) -> Value {
    let mut all = json!(document);
    if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
        for (name, value) in own {
            all.entry(name).or_insert(value);
        }
    }
    all
}
