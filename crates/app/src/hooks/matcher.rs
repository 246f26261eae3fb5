//! Which tools a hook is about.

use std::fmt;
use std::str::FromStr;

use toolcrib_core::pattern::glob;

/// Names of tools with `*` for any text, several of them with `|` between: `execute_shell_command|write_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher(Vec<String>);

impl Default for Matcher {
    /// Every tool.
    fn default() -> Self {
        Self(vec!["*".to_owned()])
    }
}

impl Matcher {
    /// Whether it is about a tool of this name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| glob(pattern, name))
    }

    /// Its words, such as `write_*`.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FromStr for Matcher {
    type Err = String;

    /// # Errors
    /// An empty word, or one with characters that no name of a tool has: it would never match.
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

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("|"))
    }
}
