//! A provider's key: used in one header, shown nowhere.

use std::fmt;

/// Keys shorter than this are not shown at all; four characters would be too much of them.
const SHOWN_FROM: usize = 12;

/// A key. `Debug` and `Display` give its last four characters only, and nothing of a key shorter than 12.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// A text that cannot be a key. The text is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing but blanks.
    #[error("the key is empty")]
    Empty,
    /// Control characters, such as a line break in the middle, or characters beyond ASCII: no header can carry them.
    #[error("the key holds a character that no key has (a line break, or one that is not ASCII)")]
    Unsendable,
}

impl ApiKey {
    /// The key without the blanks around it, as a file or a copied text has them.
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

    /// The key itself: for the one header that carries it, and to be masked wherever else it turns up.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

/// The last four characters of a secret, or only the ellipsis when it is short.
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
