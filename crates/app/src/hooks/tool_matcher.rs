//! Matchers: the tools that a hook applies to.

use std::fmt;
use std::str::FromStr;

use toolcrib_core::tool_pattern::glob_matches;
use toolcrib_engine::rules::{canonical, operations_of};

/// Tool names with `*` as wildcard, or tool classes of the rule language, separated by `|`:
/// `Bash|write_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolMatcher(Vec<String>);

impl Default for ToolMatcher {
    /// Matches every tool.
    fn default() -> Self {
        Self(vec!["*".to_owned()])
    }
}

impl ToolMatcher {
    /// Returns whether it matches a tool of this name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let operation = canonical(name);
        self.0.iter().any(|word| {
            let is_of_class = || operations_of(word).is_some_and(|all| all.contains(&operation));
            glob_matches(word, name) || canonical(word) == operation || is_of_class()
        })
    }

    /// Returns words that may be misspelled: without `*`, and neither a class nor another name that
    /// rules use for an operation. The caller checks whether such a tool exists.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.words().filter(|word| {
            !word.contains('*') && operations_of(word).is_none() && canonical(word) == *word
        })
    }

    /// Returns its words, such as `write_*`.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FromStr for ToolMatcher {
    type Err = String;

    /// Parses a matcher.
    ///
    /// # Errors
    /// An empty word, or one with characters that tool names cannot contain: it would never match.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = Vec::new();
        for word in text.split('|').map(str::trim) {
            let fits =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '*');
            if word.is_empty() {
                return Err(
                    "a matcher is names of tools with `|` between, and none is empty".to_owned()
                );
            }
            if !word.chars().all(fits) {
                return Err(format!(
                    "`{word}` matches no tool: names have letters, digits, `_`, `-`, and `*` for any text; what a call does is for rules"
                ));
            }
            words.push(word.to_owned());
        }
        Ok(Self(words))
    }
}

impl fmt::Display for ToolMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("|"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_of_rules_means_its_tools() {
        let check = |matcher: &str, name: &str, is_about: bool| {
            let matcher: ToolMatcher = matcher.parse().unwrap();
            assert_eq!(matcher.matches(name), is_about, "{matcher} {name}");
        };
        for shell in ["shell", "bash", "execute_shell_command"] {
            check("Bash", shell, true);
            check("bash", shell, true);
        }
        check("Write|Edit", "write_file", true);
        check("Write|Edit", "edit_file", true);
        check("Write|Edit", "read_file", false);
        check("Read", "read_file", true);
        check("Read", "code_search", true);
        check("WebFetch", "web_fetch", true);
        check("Bash", "read_file", false);
        check("bashful", "shell", false);
    }

    #[test]
    fn only_plain_names_may_mean_nothing() {
        let matcher: ToolMatcher = "Bash|bash|write_*|read_file|raed_file".parse().unwrap();
        assert_eq!(matcher.names().collect::<Vec<_>>(), ["read_file", "raed_file"]);
    }
}
