//! Builds JSON objects from their members.

use serde_json::{Map, Value};

/// Builds an object of these members. Moves the values, while `json!` copies them; schemas are
/// large.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
