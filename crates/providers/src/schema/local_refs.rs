//! Expands local references (`$ref`).

use serde_json::{Map, Value};

/// Why a reference cannot be expanded.
pub(super) enum RefError {
    /// The target is outside the schema or does not exist.
    Unknown,
    /// The reference is recursive.
    Recursive,
}

/// Returns the target of a `$ref` in this root. `open` lists the references that are being
/// expanded.
pub(super) fn resolve<'s>(
    root: &'s Value,
    reference: &str,
    open: &[String],
) -> Result<&'s Value, RefError> {
    if open.iter().any(|inner| inner == reference) {
        return Err(RefError::Recursive);
    }
    // Percent escapes are not decoded: they do not occur in practice in `$defs`.
    let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
    target.ok_or(RefError::Unknown)
}

/// Returns the target merged with the keywords next to the reference, which take precedence.
pub(super) fn merged(target: &Value, beside: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = target.as_object().cloned().unwrap_or_default();
    for (key, value) in beside {
        if key != "$ref" {
            merged.insert(key.clone(), value.clone());
        }
    }
    merged
}
