//! Depth and size of values, measured only up to a limit.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

/// Returns the nesting depth of a value, counted to just beyond `limit`.
pub(super) fn depth_of(value: &Value, limit: usize) -> usize {
    let deepest = |items: &mut dyn Iterator<Item = &Value>| match limit.checked_sub(1) {
        None => 1,
        Some(rest) => 1 + items.map(|item| depth_of(item, rest)).max().unwrap_or_default(),
    };
    match value {
        Value::Array(items) => deepest(&mut items.iter()),
        Value::Object(map) => deepest(&mut map.values()),
        _ => 0,
    }
}

/// Returns the number of values in a value, with a higher weight for long strings; `None` beyond
/// `limit`.
pub(super) fn value_size(value: &Value, limit: usize) -> Option<usize> {
    let own = match value {
        Value::String(text) => 1 + text.len() / 64,
        _ => 1,
    };
    let mut left = limit.checked_sub(own)?;
    match value {
        Value::Array(items) => {
            for item in items {
                left -= value_size(item, left)?;
            }
        }
        Value::Object(map) => {
            for item in map.values() {
                left -= value_size(item, left)?;
            }
        }
        _ => {}
    }
    Some(limit - left)
}
