//! Tool names: one canonical string in policy, UI, audit and API.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Longest name that every provider accepts (OpenAI allows 64 characters).
pub const MAX_NAME: usize = 64;

/// Why a text is not a tool name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    /// Empty or only whitespace.
    #[error("a tool name cannot be empty")]
    Empty,
    /// More than [`MAX_NAME`] characters.
    #[error("tool name \"{0}\" has more than 64 characters")]
    TooLong(String),
    /// Characters outside the allowed set.
    #[error(
        "tool name \"{0}\" must be snake_case: a lower-case letter, then lower-case letters, digits and underscores"
    )]
    NotSnakeCase(String),
    /// A remote name outside `[A-Za-z0-9_-]`.
    #[error("tool name \"{0}\" may contain only letters, digits, underscores and hyphens")]
    BadCharacter(String),
}

/// A canonical tool name; cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// Creates a name of a locally declared tool: `[a-z][a-z0-9_]{0,63}`.
    ///
    /// # Errors
    /// [`NameError`] if the text is empty, too long or not snake_case.
    pub fn local(text: &str) -> Result<Self, NameError> {
        check_length(text)?;
        let mut bytes = text.bytes();
        let first_ok = bytes.next().is_some_and(|b| b.is_ascii_lowercase());
        if first_ok && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') {
            Ok(Self(text.into()))
        } else {
            Err(NameError::NotSnakeCase(text.to_owned()))
        }
    }

    /// Creates a name of a tool from a remote source, as built by [`remote_name`]: 1 to 64
    /// characters of `[A-Za-z0-9_-]`.
    ///
    /// # Errors
    /// [`NameError`] if the text is empty, too long or has another character.
    pub fn remote(text: &str) -> Result<Self, NameError> {
        check_length(text)?;
        if text.bytes().all(is_wire_byte) {
            Ok(Self(text.into()))
        } else {
            Err(NameError::BadCharacter(text.to_owned()))
        }
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check_length(text: &str) -> Result<(), NameError> {
    if text.trim().is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > MAX_NAME {
        return Err(NameError::TooLong(text.chars().take(80).collect()));
    }
    Ok(())
}

fn is_wire_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

/// Returns the canonical name of `tool` on `server`: `server__tool`. Other characters become `_`. A
/// name that had to be changed or cut ends in a hash of the original, so that two originals never
/// share a name and an original always gets the same one.
#[must_use]
pub fn remote_name(server: &str, tool: &str) -> ToolName {
    let joined = format!("{server}__{tool}");
    let clean: String = joined
        .chars()
        .map(|c| if c.is_ascii() && is_wire_byte(c as u8) { c } else { '_' })
        .collect();
    if clean == joined && clean.len() <= MAX_NAME {
        return ToolName(clean.into());
    }
    let digest = Sha256::digest(joined.as_bytes());
    let suffix: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
    let head: String = clean.chars().take(MAX_NAME - suffix.len() - 1).collect();
    ToolName(format!("{head}_{suffix}").into())
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for ToolName {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        Self::remote(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names_are_snake_case() {
        for good in ["a", "read_file", "x2", &"a".repeat(64)] {
            assert!(ToolName::local(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "ReadFile", "2x", "_x", "read-file", "lesen_ä", &"a".repeat(65)] {
            assert!(ToolName::local(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn remote_names_are_stable_and_never_collide() {
        assert_eq!(remote_name("git", "push").as_str(), "git__push");
        let dotted = remote_name("git", "a.b");
        let other = remote_name("git", "a:b");
        assert_ne!(dotted, other);
        assert_eq!(dotted, remote_name("git", "a.b"));
        let long = remote_name("server", &"t".repeat(100));
        assert_eq!(long.as_str().len(), MAX_NAME);
        assert_ne!(long, remote_name("server", &"t".repeat(101)));
        assert!(ToolName::remote(long.as_str()).is_ok());
    }
}
