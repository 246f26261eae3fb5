//! API key of a provider: sent in one header, masked everywhere else.

use std::fmt;

/// Shorter keys are hidden completely: four characters would reveal too much of them.
const SHOWN_FROM: usize = 12;

/// A key. `Debug` and `Display` show its last four characters, and nothing of a key shorter than
/// 12.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// The text cannot be a key. The error does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Only white space.
    #[error("the key is empty")]
    Empty,
    /// A control character, such as a line break, or a character beyond ASCII: headers cannot
    /// contain them.
    #[error("the key holds a character that no key has (a line break, or one that is not ASCII)")]
    Unsendable,
}

impl ApiKey {
    /// Creates a key, without the surrounding white space of a file or a copied text.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let key = text.trim();
        if key.is_empty() {
            return Err(KeyError::Empty);
        }
        if !key.bytes().all(|b| matches!(b, b' '..=b'~')) {
            return Err(KeyError::Unsendable);
        }
        Ok(Self(key.to_owned()))
    }

    /// Returns the key itself: for its header, and for masking it in other text.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

/// Returns the last four characters of a secret, or only the ellipsis if it is short.
pub(super) fn masked(secret: &str) -> String {
    let tail = if secret.len() < SHOWN_FROM { 0 } else { 4 };
    let tail: String = secret.chars().skip(secret.chars().count().saturating_sub(tail)).collect();
    format!("…{tail}")
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_key_is_shown() {
        for (key, shown) in [
            ("sk-abcdefghijklmnop", "…mnop"),
            (" sk-abcdefghijklmnop\r\n", "…mnop"),
            ("abcdefghijkl", "…ijkl"),
            ("abcdefghijk", "…"),
            ("x", "…"),
        ] {
            let key = ApiKey::new(key).unwrap();
            assert_eq!(key.to_string(), shown);
            assert_eq!(format!("{key:?}"), format!("ApiKey({shown})"));
        }
    }

    #[test]
    fn what_no_header_carries_is_no_key() {
        for (text, error) in [
            ("", KeyError::Empty),
            (" \n", KeyError::Empty),
            ("sk-abc\ndef", KeyError::Unsendable),
            ("sk-abc\u{0}def", KeyError::Unsendable),
            ("sk-„abc“", KeyError::Unsendable),
        ] {
            assert_eq!(ApiKey::new(text), Err(error), "{text:?}");
        }
    }
}
