//! Masks the texts of data, and restores them: a value that a person left masked in edited
//! arguments is replaced by the original.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

/// Returns the data with `mask` applied to every key, text and number.
pub(super) fn mask_json(data: &Value, mask: &impl Fn(&str) -> Option<String>) -> Value {
    match data {
        Value::String(text) => mask(text).map_or_else(|| data.clone(), Value::String),
        Value::Number(number) => {
            mask(&number.to_string()).map_or_else(|| data.clone(), Value::String)
        }
        Value::Array(items) => items.iter().map(|item| self::mask_json(item, mask)).collect(),
        Value::Object(map) => {
            let mut masked = Map::with_capacity(map.len());
            for (key, inner) in map {
                let key = mask(key).unwrap_or_else(|| key.clone());
                masked.insert(key, self::mask_json(inner, mask));
            }
            Value::Object(masked)
        }
        Value::Null | Value::Bool(_) => data.clone(),
    }
}

/// Restores the arguments of a person who was shown `shown` in place of `real`: each value left
/// unchanged is replaced by the real one.
pub(crate) fn restore(written: &Value, shown: &Value, real: &Value) -> Value {
    if written == shown {
        return real.clone();
    }
    match (written, shown, real) {
        (Value::Array(written), Value::Array(shown), Value::Array(real)) => {
            let pairs = shown.iter().zip(real).map(Some).chain(std::iter::repeat(None));
            let items = written.iter().zip(pairs);
            items.map(|(written, pair)| restore_at(written, pair)).collect()
        }
        (Value::Object(written), Value::Object(shown), Value::Object(real)) => {
            let item = |(key, written): (&String, &Value)| {
                let pair = shown.get(key).zip(real.get(key));
                (key.clone(), restore_at(written, pair))
            };
            Value::Object(written.iter().map(item).collect())
        }
        _ => written.clone(),
    }
}

/// Returns whether edited arguments still contain a masked value that would be restored. In an
/// unedited document that is correct: the question was about exactly that call.
pub(crate) fn keeps_mask(written: &Value, shown: &Value, real: &Value) -> bool {
    written != shown && restore(written, shown, real) != *written
}

fn restore_at(written: &Value, pair: Option<(&Value, &Value)>) -> Value {
    pair.map_or_else(|| written.clone(), |(shown, real)| restore(written, shown, real))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mask_is_kept_only_where_something_else_changes_beside_it() {
        let real = json!({"url": "https://a", "key": "s3cr3t", "to": [{"pin": "s3cr3t"}, "b"]});
        let shown = json!({"url": "https://a", "key": "***", "to": [{"pin": "***"}, "b"]});
        let check = |written: Value, expected: bool| {
            assert_eq!(keeps_mask(&written, &shown, &real), expected, "{written}");
        };
        check(shown.clone(), false);
        check(json!({"url": "https://b", "key": "***"}), true);
        check(json!({"url": "https://a", "key": "***"}), true);
        check(json!({"url": "https://a", "key": "own", "to": [{"pin": "***"}, "c"]}), true);
        check(json!({"url": "https://b", "key": "own", "to": [{"pin": "own"}, "b"]}), false);
        check(json!({"url": "https://b"}), false);
        // The mask does not represent the secret at another position.
        check(json!({"url": "***"}), false);
        let plain = json!({"text": "***", "to": "a"});
        assert!(!keeps_mask(&json!({"text": "***", "to": "b"}), &plain, &plain));
    }
}
