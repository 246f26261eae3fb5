//! Canonical JSON and its hashes: the definition of "the same arguments".

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::hash::{BuildHasher, Hash, Hasher};

/// Returns JSON with sorted keys and no whitespace, so that equal values have equal text. Keys are
/// sorted by Unicode code point. RFC 8785 sorts by UTF-16 code unit, which orders characters above
/// U+FFFF differently.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_scalar(&Value::String(key.clone()), out);
                out.push(':');
                if let Some(inner) = map.get(key) {
                    write(inner, out);
                }
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_scalar(value: &Value, out: &mut String) {
    use std::fmt::Write as _;
    // Writing to a `String` cannot fail.
    let _ = write!(out, "{value}");
}

/// Returns the SHA-256 of the canonical text as 64 hexadecimal digits: for approvals, intent
/// records and audit records.
#[must_use]
pub fn sha256(value: &Value) -> String {
    hex(&Sha256::digest(to_string(value).as_bytes()))
}

/// Returns the SHA-256 of text that is already canonical.
#[must_use]
pub fn sha256_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Returns the SHA-256 of several texts with their lengths, so that moving a boundary changes the
/// hash.
#[must_use]
pub fn sha256_parts(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize())
}

/// Returns the lowercase hexadecimal text of bytes.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// Returns a fast 64-bit hash of a value, independent of key order: for the repeat guard. Never
/// store it: it depends on the process's random state.
pub fn fast_hash(value: &Value, state: &impl BuildHasher) -> u64 {
    let mut hasher = state.build_hasher();
    match value {
        Value::Null => 0u8.hash(&mut hasher),
        Value::Bool(b) => (1u8, b).hash(&mut hasher),
        Value::Number(n) => (2u8, n).hash(&mut hasher),
        Value::String(s) => (3u8, s).hash(&mut hasher),
        Value::Array(items) => {
            (4u8, items.len()).hash(&mut hasher);
            for item in items {
                fast_hash(item, state).hash(&mut hasher);
            }
        }
        Value::Object(map) => {
            // Addition is commutative, so the order of the members does not matter.
            let sum = map.iter().fold(0u64, |sum, (key, inner)| {
                sum.wrapping_add(state.hash_one((key, fast_hash(inner, state))))
            });
            (5u8, map.len(), sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn order_of_keys_does_not_matter_order_of_items_does() {
        let a = json!({"b": [1, {"y": 1, "x": "é\n"}], "a": null});
        let b: Value = serde_json::from_str(r#"{"a":null,"b":[1,{"x":"é\n","y":1}]}"#).unwrap();
        assert_eq!(to_string(&a), r#"{"a":null,"b":[1,{"x":"é\n","y":1}]}"#);
        assert_eq!(sha256(&a), sha256(&b));
        let state = foldhash::fast::RandomState::default();
        assert_eq!(fast_hash(&a, &state), fast_hash(&b, &state));
        assert_ne!(fast_hash(&json!([1, 2]), &state), fast_hash(&json!([2, 1]), &state));
        assert_ne!(
            fast_hash(&json!({"a": 1, "b": 2}), &state),
            fast_hash(&json!({"a": 2, "b": 1}), &state)
        );
        assert_ne!(sha256_parts(&["ab", "c"]), sha256_parts(&["a", "bc"]));
    }
}
