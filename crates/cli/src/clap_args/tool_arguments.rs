//! Arguments of a tool on the command line: `KEY=VALUE`, `KEY:=JSON`, or a JSON object.

use serde_json::{Map, Value};

use crate::output::Failure;

/// Arguments from one word of the command line.
type Arguments = Map<String, Value>;

/// Parses one word. A value after `=` is text: the argument decoder converts it to a number or a
/// choice if the tool's schema has one.
///
/// # Errors
/// The problem, and the accepted forms.
pub(super) fn parse_word(text: &str) -> Result<Arguments, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| format!("invalid JSON ({error})"));
    }
    let Some((name, value)) = text.split_once('=') else {
        return Err("write KEY=VALUE, KEY:=JSON, or one JSON object".to_owned());
    };
    let (name, value) = match name.strip_suffix(':') {
        Some(name) => {
            let value = serde_json::from_str(value)
                .map_err(|error| format!("the value after `:=` is invalid JSON ({error})"))?;
            (name, value)
        }
        None => (name, Value::String(value.to_owned())),
    };
    if name.trim().is_empty() {
        return Err("the name before `=` is empty".to_owned());
    }
    Ok(Map::from_iter([(name.to_owned(), value)]))
}

/// Merges all words into one JSON object.
///
/// # Errors
/// Exit code 2 for a name that occurs twice.
pub(crate) fn to_json(words: &[Arguments]) -> Result<String, Failure> {
    let mut object = Map::new();
    for (name, value) in words.iter().flatten() {
        if object.insert(name.clone(), value.clone()).is_some() {
            return Err(Failure::usage(format!(
                "the argument {name} occurs twice; write several values as {name}:='[…]'"
            )));
        }
    }
    Ok(Value::Object(object).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_texts_json_values_or_objects() {
        for (text, arguments) in [
            ("path=a=b", json!({"path": "a=b"})),
            ("limit=5", json!({"limit": "5"})),
            ("lines:=[1,2]", json!({"lines": [1, 2]})),
            ("empty=", json!({"empty": ""})),
            (r#"{"path": "a=b", "limit": 5}"#, json!({"path": "a=b", "limit": 5})),
        ] {
            assert_eq!(parse_word(text).map(Value::Object), Ok(arguments), "{text}");
        }
        for wrong in ["path", "=x", "lines:=[1", ":=1", "{", r#"{"a": 1} b"#] {
            assert!(parse_word(wrong).is_err(), "{wrong}");
        }
        let twice = ["a=1", r#"{"a": 2}"#].map(|word| parse_word(word).unwrap());
        assert_eq!(to_json(&twice).unwrap_err().code, 2);
    }
}
