//! Patterns of one argument: `tool(key:pattern)`.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;
use toolcrib_core::tool_pattern;

/// A pattern of one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArgumentPattern {
    /// The name of the argument, or several alternative names.
    pub(super) keys: Vec<String>,
    /// Its required value: `*` matches any text.
    pub(super) value: String,
}

impl ArgumentPattern {
    /// Parses `key:pattern`.
    pub(super) fn parse(tool: &str, specifier: &str) -> Result<Self, String> {
        let fault =
            || format!("\"{specifier}\" names no argument; write {tool}(ARGUMENT:{specifier})");
        let (key, value) = specifier.split_once(':').ok_or_else(fault)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if key.is_empty() || !key.chars().all(is_name) {
            return Err(fault());
        }
        if value.is_empty() || value.trim() != value {
            let value = if value.trim().is_empty() { "*" } else { value.trim() };
            return Err(format!(
                "there is no value behind {key}:, or blanks around it; write {tool}({key}:{value})"
            ));
        }
        Ok(Self { keys: vec![key.to_owned()], value: value.to_owned() })
    }

    /// Returns whether the pattern matches these arguments. In strict mode, for deny and ask rules,
    /// one matching value inside a list or an object is enough.
    pub(super) fn matches(
        &self,
        args: &Value,
        aliases: &[(String, String)],
        strictly: bool,
    ) -> bool {
        let of_key = |key: &String| {
            let canonical = aliases.iter().find(|(alias, _)| alias == key).map(|(_, name)| name);
            [Some(key), canonical].into_iter().flatten().find_map(|name| args.get(name))
        };
        self.keys.iter().filter_map(of_key).any(|value| self.fits(value, strictly))
    }

    fn fits(&self, value: &Value, strictly: bool) -> bool {
        match value {
            Value::String(text) => tool_pattern::glob_matches(&self.value, text),
            Value::Bool(_) | Value::Number(_) | Value::Null => {
                tool_pattern::glob_matches(&self.value, &value.to_string())
            }
            Value::Array(items) => strictly && items.iter().any(|item| self.fits(item, strictly)),
            Value::Object(members) => {
                strictly && members.values().any(|member| self.fits(member, strictly))
            }
        }
    }

    /// Returns one spelling for all equivalent patterns.
    pub(super) fn canonical(&self) -> String {
        format!("{}:{}", self.keys.join(","), self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values() {
        for (rule, args, strictly, loosely) in [
            ("method:POST", json!({"method": "POST"}), true, true),
            ("method:POST", json!({"method": "GET"}), false, false),
            ("method:POST", json!({}), false, false),
            ("to:*@example.com", json!({"to": "a@example.com"}), true, true),
            ("to:*@evil.com", json!({"to": ["a@example.com", "b@evil.com"]}), true, false),
            ("to:*@evil.com", json!({"to": {"address": "b@evil.com"}}), true, false),
            ("force:true", json!({"force": true}), true, true),
            ("n:1*", json!({"n": 12}), true, true),
            ("url:a:b", json!({"url": "a:b"}), true, true),
            ("recipient:x", json!({"to": "x"}), true, true),
        ] {
            let aliases = [("recipient".to_owned(), "to".to_owned())];
            let pattern = ArgumentPattern::parse("send", rule).expect(rule);
            assert_eq!(pattern.matches(&args, &aliases, true), strictly, "{rule} {args}");
            assert_eq!(pattern.matches(&args, &aliases, false), loosely, "{rule} {args}");
        }
    }

    #[test]
    fn patterns_that_are_refused() {
        for (text, says) in [
            ("POST", "write send(ARGUMENT:POST)"),
            ("a b:c", "names no argument"),
            (":x", "names no argument"),
            ("to:", "write send(to:*)"),
            ("to: x", "write send(to:x)"),
        ] {
            let error = ArgumentPattern::parse("send", text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
