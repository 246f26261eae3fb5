//! JSON of a command: the document that the REST API answers with, and the members that only the
//! command has.

use serde::Serialize;
use serde_json::{Value, json};

/// The document with members of the command. A member that both have is that of the document.
pub(crate) fn with_members(document: &impl Serialize, own: Value) -> Value {
    let mut all = json!(document);
    if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
        for (name, value) in own {
            all.entry(name).or_insert(value);
        }
    }
    all
}
