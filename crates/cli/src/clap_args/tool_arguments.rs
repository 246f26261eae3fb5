//! Arguments of a tool as words of the command line: `KEY=VALUE` and `KEY:=JSON`.

use serde_json::{Map, Value};

use crate::output::Failure;

/// Reads one pair. A value after `=` is a text: the decoder of arguments reads a number or a choice
/// in it where the tool's schema wants one.
///
/// # Errors
/// What is wrong with the pair, and how one is written.
pub(super) fn parse_pair(text: &str) -> Result<(String, Value), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("write KEY=VALUE, KEY:=JSON, or --args with one JSON object".to_owned());
    };
    let (name, value) = match name.strip_suffix(':') {
        Some(name) => {
            let value = serde_json::from_str(value)
                .map_err(|error| format!("what follows `:=` is no JSON ({error})"))?;
            (name, value)
        }
        None => (name, Value::String(value.to_owned())),
    };
    if name.trim().is_empty() {
        return Err("the name before `=` is empty".to_owned());
    }
    Ok((name.to_owned(), value))
}

/// The pairs as one JSON object.
///
/// # Errors
/// Exit code 2 for a name that is there twice.
pub(crate) fn to_json(pairs: &[(String, Value)]) -> Result<String, Failure> {
    let mut object = Map::new();
    for (name, value) in pairs {
        if object.insert(name.clone(), value.clone()).is_some() {
            return Err(Failure::usage(format!(
                "the argument {name} is there twice; write several values as {name}:='[…]'"
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
    fn pairs_are_texts_or_json() {
        for (text, name, value) in [
            ("path=a=b", "path", json!("a=b")),
            ("limit=5", "limit", json!("5")),
            ("lines:=[1,2]", "lines", json!([1, 2])),
            ("empty=", "empty", json!("")),
        ] {
            assert_eq!(parse_pair(text), Ok((name.to_owned(), value)), "{text}");
        }
        for wrong in ["path", "=x", "lines:=[1", ":=1"] {
            assert!(parse_pair(wrong).is_err(), "{wrong}");
        }
        let twice = [("a".to_owned(), json!("1")), ("a".to_owned(), json!("2"))];
        assert_eq!(to_json(&twice).unwrap_err().code, 2);
    }
}
