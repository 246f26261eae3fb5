//! Whether a JSON value holds what is expected, and where it does not.
//!
//! Objects match by subset, arrays element by element with the same length, anything else must be
//! equal. An object whose only member begins with `$` is a matcher:
//! - `$absent: true`: the member is not there. `$any: true`: it is there, whatever it is.
//! - `$contains: x`: a text that holds the text `x`, or an array with an element that matches `x`.
//! - `$ends: [..]`: an array whose last elements match these.
//! - `$all: [..]`: all of these match. `$not: x`: it is not there, or does not match `x`.
//! - `$json: x`: a text that is JSON, and that JSON matches `x`.
//! - `$only: {..}`: an object with exactly these members.
//! - `$length: n`: a text of `n` characters, or an array of `n` elements.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What of `got` is not as `expected`, one line per difference with a JSON pointer to it; empty =
/// it matches.
#[must_use]
pub fn differences(expected: &Value, got: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", expected, Some(got), &mut found);
    found
}

fn compare(at: &str, expected: &Value, got: Option<&Value>, found: &mut Vec<String>) {
    if let Some((name, inner)) = matcher(expected) {
        return apply(at, name, inner, got, found);
    }
    let Some(got) = got else {
        return found.push(format!(
            "{}: missing, expected {}",
            path_or_root(at),
            shortened(expected)
        ));
    };
    match (expected, got) {
        (Value::Object(wanted), Value::Object(given)) => members(at, wanted, given, found),
        (Value::Array(wanted), Value::Array(given)) => elements(at, wanted, given, found),
        _ if expected == got => {}
        _ => found.push(differs(at, &shortened(expected), got)),
    }
}

fn members(
    at: &str,
    wanted: &Map<String, Value>,
    given: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    for (key, value) in wanted {
        compare(&format!("{at}/{key}"), value, given.get(key), found);
    }
}

fn elements(at: &str, wanted: &[Value], given: &[Value], found: &mut Vec<String>) {
    if wanted.len() != given.len() {
        let message = format!("{} elements, expected {}", given.len(), wanted.len());
        found.push(format!("{}: {message}: {}", path_or_root(at), shortened(&given.into())));
    }
    for (i, (wanted, given)) in wanted.iter().zip(given).enumerate() {
        compare(&format!("{at}/{i}"), wanted, Some(given), found);
    }
}

fn matcher(expected: &Value) -> Option<(&str, &Value)> {
    let object = expected.as_object().filter(|object| object.len() == 1)?;
    let (name, inner) = object.iter().next()?;
    Some((name.strip_prefix('$')?, inner))
}

fn apply(at: &str, name: &str, inner: &Value, got: Option<&Value>, found: &mut Vec<String>) {
    if name == "absent" {
        if let Some(got) = got {
            found.push(differs(at, "nothing there", got));
        }
        return;
    }
    let Some(got) = got else {
        if name == "not" {
            return;
        }
        return found.push(format!(
            "{}: missing, expected ${name} {}",
            path_or_root(at),
            shortened(inner)
        ));
    };
    match (name, inner, got) {
        ("any", _, _) => {}
        ("contains", Value::String(part), Value::String(text)) if text.contains(part) => {}
        ("contains", _, Value::Array(items))
            if items.iter().any(|item| differences(inner, item).is_empty()) => {}
        ("ends", Value::Array(wanted), Value::Array(given)) if wanted.len() <= given.len() => {
            let skipped = given.len() - wanted.len();
            for (i, (wanted, given)) in wanted.iter().zip(given.iter().skip(skipped)).enumerate() {
                compare(&format!("{at}/{}", skipped + i), wanted, Some(given), found);
            }
        }
        ("all", Value::Array(matchers), _) => {
            matchers.iter().for_each(|inner| compare(at, inner, Some(got), found));
        }
        ("not", _, _) if !differences(inner, got).is_empty() => {}
        ("json", _, Value::String(text)) if serde_json::from_str::<Value>(text).is_ok() => {
            let json: Value = serde_json::from_str(text).unwrap_or_default();
            compare(&format!("{at}(json)"), inner, Some(&json), found);
        }
        ("only", Value::Object(wanted), Value::Object(given)) => {
            let keys = |map: &Map<String, Value>| map.keys().cloned().collect::<BTreeSet<_>>();
            if keys(wanted) != keys(given) {
                let wanted: Vec<_> = keys(wanted).into_iter().collect();
                found.push(differs(at, &format!("only the members {}", wanted.join(", ")), got));
            }
            members(at, wanted, given, found);
        }
        ("length", Value::Number(n), _)
            if length(got).is_some_and(|len| n.as_u64() == Some(len)) => {}
        _ => found.push(differs(at, &format!("${name} {}", shortened(inner)), got)),
    }
}

fn length(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => u64::try_from(text.chars().count()).ok(),
        Value::Array(items) => u64::try_from(items.len()).ok(),
        _ => None,
    }
}

fn differs(at: &str, expected: &str, got: &Value) -> String {
    format!("{}: {}\n    expected {expected}", path_or_root(at), shortened(got))
}

fn path_or_root(at: &str) -> &str {
    if at.is_empty() { "the whole" } else { at }
}

/// At most 400 characters of it.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    let mut out: String = text.chars().take(400).collect();
    if out.len() < text.len() {
        out.push_str(&format!("… ({} bytes)", text.len()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(expected: &Value, got: &Value, at: Option<&str>) {
        let found = differences(expected, got);
        match at {
            None => assert!(found.is_empty(), "{expected} should match {got}: {found:?}"),
            Some(at) => {
                assert!(
                    found.len() == 1 && found[0].starts_with(at),
                    "{expected}, {got}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn values() {
        let got = json!({"a": [1, {"b": "text", "n": null}], "args": "{\"x\":[1,2]}", "e": []});
        check(&json!({}), &got, None);
        check(&json!({"a": [1, {"b": "text"}]}), &got, None);
        check(&json!({"a": [1]}), &got, Some("/a: 2 elements, expected 1"));
        check(&json!({"a": [1, {"b": "no"}]}), &got, Some("/a/1/b: \"text\"\n    expected \"no\""));
        check(&json!({"z": 1}), &got, Some("/z: missing"));
        check(&json!([]), &got, Some("the whole: {"));
        check(&json!({"e": []}), &got, None);
    }

    #[test]
    fn matchers() {
        let got = json!({"a": [1, {"b": "text", "n": null}], "args": "{\"x\":[1,2]}"});
        check(&json!({"z": {"$absent": true}}), &got, None);
        check(&json!({"a": {"$absent": true}}), &got, Some("/a"));
        check(&json!({"z": {"$any": true}}), &got, Some("/z: missing"));
        check(&json!({"a": [{"$any": true}, {"n": {"$any": true}}]}), &got, None);
        check(&json!({"a": {"$contains": {"b": {"$contains": "ex"}}}}), &got, None);
        check(&json!({"a": {"$contains": {"b": "ex"}}}), &got, Some("/a"));
        check(&json!({"a": {"$ends": [{"b": "text"}]}}), &got, None);
        check(&json!({"a": {"$ends": [{"b": "x"}]}}), &got, Some("/a/1/b"));
        check(&json!({"a": {"$ends": [1, 2, 3]}}), &got, Some("/a: "));
        check(&json!({"args": {"$json": {"x": [1, 2]}}}), &got, None);
        check(&json!({"args": {"$json": {"x": [1, 3]}}}), &got, Some("/args(json)/x/1"));
        check(&json!({"a": {"$json": {}}}), &got, Some("/a"));
        check(&json!({"a": {"$not": {"$length": 3}}}), &got, None);
        check(&json!({"a": {"$not": {"$length": 2}}}), &got, Some("/a"));
        check(&json!({"z": {"$not": true}}), &got, None);
        check(&json!({"$only": {"a": {"$any": true}, "args": {"$length": 11}}}), &got, None);
        check(&json!({"$only": {"a": {"$any": true}}}), &got, Some("the whole"));
        check(
            &json!({"args": {"$all": [{"$contains": "{"}, {"$contains": "y"}]}}),
            &got,
            Some("/args"),
        );
        check(&json!({"a": {"$unheard": 1}}), &got, Some("/a"));
    }
}
