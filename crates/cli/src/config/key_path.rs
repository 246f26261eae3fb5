//! Keys as named on the command line and in lists: `limits.rounds`, `models."qwen3*".window`.

use std::fmt;

/// A key of the configuration, from the top level of the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct KeyPath(pub(crate) Vec<String>);

impl KeyPath {
    /// Parses a key with dots; parts with other characters than letters, digits, `-` and `_` are
    /// quoted as in the file.
    ///
    /// # Errors
    /// A message for people.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts = toml_edit::Key::parse(text.trim()).map_err(|_| {
            format!("`{text}` is not a key; write SECTION.KEY, such as limits.rounds")
        })?;
        Ok(Self(parts.iter().map(|part| part.get().to_owned()).collect()))
    }

    /// Returns the key of an entry of this table.
    pub(super) fn child(&self, part: &str) -> Self {
        Self(self.0.iter().cloned().chain([part.to_owned()]).collect())
    }

    /// Returns its parts.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// Returns whether this key is the other one, or inside it.
    pub(crate) fn is_under(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            write!(f, "{dot}{}", toml_edit::Key::new(part).display_repr())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_shown() {
        let check = |text: &str, parts: &[&str]| {
            let key = KeyPath::parse(text).unwrap();
            assert_eq!(key.parts(), parts, "{text}");
            assert_eq!(KeyPath::parse(&key.to_string()).unwrap(), key, "{text}");
        };
        check("policy", &["policy"]);
        check(" limits.rounds ", &["limits", "rounds"]);
        check("models.\"qwen3*\".window", &["models", "qwen3*", "window"]);
        check(
            "permissions.workspaces.'/w'.network",
            &["permissions", "workspaces", "/w", "network"],
        );
        for wrong in ["", ".", "a.", "a b", "\"a", "a = 1"] {
            assert!(KeyPath::parse(wrong).is_err(), "{wrong}");
        }
    }
}
