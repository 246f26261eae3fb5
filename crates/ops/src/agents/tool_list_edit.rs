//! Replaces the list of tools in the text of an agent's file, and leaves the rest as it is.

use serde_json::Value;

/// A TOML file with this list.
pub(super) fn replace_in_toml(text: &str, list: &[String]) -> Option<String> {
    let mut document: toml_edit::DocumentMut = text.parse().ok()?;
    let array: toml_edit::Array = list.iter().map(String::as_str).collect();
    match document.get_mut("tools") {
        // The old value's surroundings, such as a comment behind it, stay.
        Some(item) => {
            let decor = item.as_value().map(|value| value.decor().clone());
            *item = toml_edit::value(array);
            if let (Some(value), Some(decor)) = (item.as_value_mut(), decor) {
                *value.decor_mut() = decor;
            }
        }
        None => drop(document.insert("tools", toml_edit::value(array))),
    }
    Some(document.to_string())
}

/// Replaces the key `tools` between the two `---` lines with one line, or adds it as the last one.
/// What the key takes up is told by indentation; the caller reads the outcome again.
pub(super) fn replace_in_front_matter(text: &str, list: &[String]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let end = 1 + lines.iter().skip(1).position(|line| line.trim_end() == "---")?;
    let newline = if lines.first()?.ends_with("\r\n") { "\r\n" } else { "\n" };
    let line = format!("tools: {}{newline}", Value::from(list));
    let is_key = |line: &&str| {
        let key = line.split_once(':').map(|(key, _)| key.trim_end());
        matches!(key, Some("tools" | "\"tools\"" | "'tools'"))
    };
    let at = 1 + lines.get(1..end)?.iter().position(is_key).unwrap_or(end - 1);
    let goes_on =
        |line: &&&str| line.starts_with([' ', '\t', '-', ']']) && line.trim_end() != "---";
    let taken =
        if at < end { 1 + lines.get(at + 1..end)?.iter().take_while(goes_on).count() } else { 0 };
    let (before, behind) = (lines.get(..at)?, lines.get(at + taken..)?);
    Some(before.concat() + &line + &behind.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn front_matter_keeps_everything_else() {
        let check = |text: &str, expected: Option<&str>| {
            let changed = replace_in_front_matter(text, &list(&["a", "group:b"]));
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
        check("---\ntools: [x]\n", None);
        check("", None);
    }

    #[test]
    fn toml_keeps_everything_else() {
        let check = |text: &str, expected: &str| {
            assert_eq!(replace_in_toml(text, &list(&["a"])).as_deref(), Some(expected), "{text:?}");
        };
        check(
            "# top\nprompt = \"P\"\ntools = [\"x\"] # why\n\n[limits]\nrounds = 3\n",
            "# top\nprompt = \"P\"\ntools = [\"a\"] # why\n\n[limits]\nrounds = 3\n",
        );
        check(
            "prompt = \"P\"\n\n[limits]\nrounds = 3\n",
            "prompt = \"P\"\ntools = [\"a\"]\n\n[limits]\nrounds = 3\n",
        );
        assert!(replace_in_toml("prompt = ", &[]).is_none());
    }
}
