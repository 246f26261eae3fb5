//! Replaces one key in the text of an agent's file, and keeps the rest unchanged.

use serde_json::Value;

/// Returns a TOML file with this value of the key; `null` removes the key.
pub(super) fn replace_in_toml(text: &str, key: &str, value: &Value) -> Option<String> {
    let mut document: toml_edit::DocumentMut = text.parse().ok()?;
    let Some(value) = toml_value(value) else {
        document.remove(key);
        return Some(document.to_string());
    };
    match document.get_mut(key) {
        // Keep the decoration of the old value, such as a comment after it.
        Some(item) => {
            let decor = item.as_value().map(|value| value.decor().clone());
            *item = toml_edit::Item::Value(value);
            if let (Some(value), Some(decor)) = (item.as_value_mut(), decor) {
                *value.decor_mut() = decor;
            }
        }
        None => drop(document.insert(key, toml_edit::Item::Value(value))),
    }
    Some(document.to_string())
}

/// Converts a value; returns `None` for `null`, which TOML does not have.
fn toml_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            items.iter().filter_map(toml_value).collect::<toml_edit::Array>().into()
        }
        Value::Object(members) => {
            let members = members.iter().filter_map(|(key, value)| Some((key, toml_value(value)?)));
            members.collect::<toml_edit::InlineTable>().into()
        }
    })
}

/// Replaces a key between the two `---` lines with one line, or adds it as the last one; `null`
/// removes it. The extent of the key is derived from indentation; the caller parses the result
/// again.
pub(super) fn replace_in_front_matter(text: &str, key: &str, value: &Value) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let end = 1 + lines.iter().skip(1).position(|line| line.trim_end() == "---")?;
    let newline = if lines.first()?.ends_with("\r\n") { "\r\n" } else { "\n" };
    let line = if value.is_null() { String::new() } else { format!("{key}: {value}{newline}") };
    let is_key = |line: &&str| {
        let found = line.split_once(':').map(|(key, _)| key.trim_end());
        found.is_some_and(|found| found.trim_matches(['"', '\'']) == key)
    };
    let at = 1 + lines.get(1..end)?.iter().position(is_key).unwrap_or(end - 1);
    let goes_on =
        |line: &&&str| line.starts_with([' ', '\t', '-', ']']) && line.trim_end() != "---";
    let taken =
        if at < end { 1 + lines.get(at + 1..end)?.iter().take_while(goes_on).count() } else { 0 };
    let (before, behind) = (lines.get(..at)?, lines.get(at + taken..)?);
    Some(before.concat() + &line + &behind.concat())
}

/// Returns a Markdown file with this text after its front matter.
pub(super) fn replace_body(text: &str, body: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let end = 2 + lines.iter().skip(1).position(|line| line.trim_end() == "---")?;
    Some(format!("{}\n\n{body}\n", lines.get(..end)?.concat().trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Value {
        Value::from(words.to_vec())
    }

    #[test]
    fn front_matter_keeps_everything_else() {
        let check = |text: &str, expected: Option<&str>| {
            let changed = replace_in_front_matter(text, "tools", &list(&["a", "group:b"]));
            assert_eq!(changed.as_deref(), expected, "{text:?}");
        };
        check(
            "---\ntitle: X\ntools: [read_file]\n# why\nmode: auto\n---\n\ntools: x\n",
            Some("---\ntitle: X\ntools: [\"a\",\"group:b\"]\n# why\nmode: auto\n---\n\ntools: x\n"),
        );
        check(
            "---\ntools:\n- x\n- y\nmode: auto\n---\nP",
            Some("---\ntools: [\"a\",\"group:b\"]\nmode: auto\n---\nP"),
        );
        check("---\ntools:\n  - x\n  # y\n---\nP", Some("---\ntools: [\"a\",\"group:b\"]\n---\nP"));
        check("---\ntools: [\n  x,\n]\n---\nP", Some("---\ntools: [\"a\",\"group:b\"]\n---\nP"));
        check(
            "---\r\ntitle: X\r\n---\r\nP",
            Some("---\r\ntitle: X\r\ntools: [\"a\",\"group:b\"]\r\n---\r\nP"),
        );
        check("---\n---\nP", Some("---\ntools: [\"a\",\"group:b\"]\n---\nP"));
        let without =
            replace_in_front_matter("---\na: 1\ntools:\n- x\nb: 2\n---\nP", "tools", &Value::Null);
        assert_eq!(without.as_deref(), Some("---\na: 1\nb: 2\n---\nP"));
        check("---\ntools: [x]\n", None);
        check("", None);
    }

    #[test]
    fn toml_keeps_everything_else() {
        let check = |text: &str, expected: &str| {
            assert_eq!(
                replace_in_toml(text, "tools", &list(&["a"])).as_deref(),
                Some(expected),
                "{text:?}"
            );
        };
        check(
            "# top\nprompt = \"P\"\ntools = [\"x\"] # why\n\n[limits]\nrounds = 3\n",
            "# top\nprompt = \"P\"\ntools = [\"a\"] # why\n\n[limits]\nrounds = 3\n",
        );
        check(
            "prompt = \"P\"\n\n[limits]\nrounds = 3\n",
            "prompt = \"P\"\ntools = [\"a\"]\n\n[limits]\nrounds = 3\n",
        );
        assert!(replace_in_toml("prompt = ", "tools", &list(&[])).is_none());
        let limits = serde_json::json!({"rounds": 3, "cost": 0.5, "time": null});
        let changed = replace_in_toml("prompt = \"P\"\n", "limits", &limits).unwrap();
        // The JSON library determines the order of the members.
        assert!(changed.starts_with("prompt = \"P\"\nlimits = { "), "{changed}");
        assert!(changed.contains("cost = 0.5") && changed.contains("rounds = 3"), "{changed}");
        assert!(!changed.contains("time"), "{changed}");
        let without = replace_in_toml(&changed, "limits", &Value::Null).unwrap();
        assert_eq!(without, "prompt = \"P\"\n");
    }
}
