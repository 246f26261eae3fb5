//! Local references, written out where they stand.

use serde_json::{Map, Value};

/// Why a reference cannot be written out.
pub(super) enum RefError {
    /// It leads outside the schema, or nowhere.
    Unknown,
    /// It leads back to itself.
    Recursive,
}

/// The schema that a `$ref` of this root means. `open` are the references being written out now.
pub(super) fn resolve<'s>(
    root: &'s Value,
    reference: &str,
    open: &[String],
) -> Result<&'s Value, RefError> {
    if open.iter().any(|inner| inner == reference) {
        return Err(RefError::Recursive);
    }
    // Percent escapes are not resolved: nobody writes them in `$defs`.
    let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
    target.ok_or(RefError::Unknown)
}

/// The target with what stands beside the reference; the nearer word wins.
pub(super) fn merged(target: &Value, beside: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = target.as_object().cloned().unwrap_or_default();
    for (key, value) in beside {
        if key != "$ref" {
            merged.insert(key.clone(), value.clone());
        }
    }
    merged
}
