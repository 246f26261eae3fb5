//! JSON text in columns.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Failure;

/// Returns the JSON text of a value.
pub(crate) fn write<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(serde_json::to_string(value)?)
}

/// Returns the value of a JSON text. The recursion limit is off: arguments just within a parser's
/// limit are nested deeper inside the message that contains them, and stored values must stay
/// readable.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    Ok(T::deserialize(&mut deserializer)?)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn values_come_back_as_they_were() {
        let deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
        for value in [json!({"b": 1, "a": [0.1, -0.0, u64::MAX, "\u{0}\u{2028}"]}), deep] {
            assert_eq!(read::<Value>(&write(&value).unwrap()).unwrap(), value);
        }
    }
}
