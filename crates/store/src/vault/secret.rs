//! A secret value and its name.
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

/// Minimum characters of a secret: masking shorter values would also hide ordinary text.
pub const MIN_SECRET_BYTES: usize = 8;
/// Maximum bytes of a secret.
pub const MAX_SECRET_BYTES: usize = 64 * 1024;
/// Maximum characters of a name.
const NAME_CHARS: usize = 100;

/// A secret's value: wiped from memory on drop, without a `Debug` implementation.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Creates a value that can be stored and masked.
    ///
    /// # Errors
    /// [`ValueError`].
    pub fn new(value: impl Into<String>) -> Result<Self, ValueError> {
        let value = Zeroizing::new(value.into());
        if value.trim().chars().count() < MIN_SECRET_BYTES {
            return Err(ValueError::TooShort);
        }
        if value.len() > MAX_SECRET_BYTES {
            return Err(ValueError::TooLong { bytes: value.len() });
        }
        if value.contains('\0') {
            return Err(ValueError::Nul);
        }
        Ok(Self(value))
    }

    /// Creates a value from bytes, such as standard input, without a final line break.
    ///
    /// # Errors
    /// [`ValueError`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ValueError> {
        let mut bytes = Zeroizing::new(bytes);
        for end in [b'\n', b'\r'] {
            if bytes.last() == Some(&end) {
                bytes.pop();
            }
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| ValueError::NotText)?;
        Self::new(text)
    }

    /// Returns the value in plain text. Use it at once and do not keep copies.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Why a value is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Too short to be masked.
    #[error(
        "the value is shorter than {MIN_SECRET_BYTES} characters (surrounding white space does not count): it could not be masked in results and logs without damage to other text, so it is refused; use a longer one"
    )]
    TooShort,
    /// Larger than any key.
    #[error("the value has {bytes} bytes, the limit is {MAX_SECRET_BYTES}")]
    TooLong {
        /// Its size.
        bytes: usize,
    },
    /// Contains a NUL, which environment variables cannot contain.
    #[error("the value contains a NUL character, which environment variables cannot contain")]
    Nul,
    /// Not UTF-8.
    #[error("the value is not UTF-8 text; encode it first, for example with base64")]
    NotText,
}

/// The name of a secret: 1 to 100 of `a-z`, `A-Z`, `0-9`, `.`, `_` and `-`, beginning and ending
/// with a letter, a digit or `_`. Upper case is allowed because `TOOL.KEY` names the configuration
/// key of a tool, which is an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

impl SecretName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the tool and its configuration key that this secret is for, if the name has the form
    /// `TOOL.KEY`.
    #[must_use]
    pub fn tool_and_key(&self) -> Option<(&str, &str)> {
        self.0.split_once('.').filter(|(tool, key)| !tool.is_empty() && !key.is_empty())
    }
}

impl FromStr for SecretName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let end = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let ends = name.chars().next().zip(name.chars().next_back());
        let fits = name.len() <= NAME_CHARS
            && name.chars().all(inner)
            && ends.is_some_and(|(first, last)| end(first) && end(last));
        if fits { Ok(Self(name.to_owned())) } else { Err(NameError) }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name is invalid. The message does not repeat the input, which may be the secret itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "that is not a valid name of a secret: 1 to {NAME_CHARS} of a-z, A-Z, 0-9, `.`, `_` and `-`, beginning and ending with a letter, a digit or `_`, such as `openai` or `weather.API_KEY`"
)]
pub struct NameError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let long = "n".repeat(100);
        for name in ["openai", "weather.API_KEY", "a", "x-1", &long] {
            assert_eq!(name.parse::<SecretName>().unwrap().as_str(), name);
        }
        let too_long = "n".repeat(101);
        for name in ["", ".", "a.", "-a", "a b", "ä", "a/b", "../x", &too_long, "a\n"] {
            assert!(name.parse::<SecretName>().is_err(), "{name:?}");
        }
        let name: SecretName = "weather.API.KEY".parse().unwrap();
        assert_eq!(name.tool_and_key(), Some(("weather", "API.KEY")));
        assert_eq!("openai".parse::<SecretName>().unwrap().tool_and_key(), None);
    }

    #[test]
    fn values_can_be_masked_and_given_to_programs() {
        let check = |bytes: &[u8], expected: Result<&str, ValueError>| {
            let made = Secret::from_bytes(bytes.to_vec());
            let made = made.as_ref().map(Secret::expose).map_err(|error| *error);
            assert_eq!(made, expected, "{bytes:?}");
        };
        check(b"12345678", Ok("12345678"));
        check(b"12345678\r\n", Ok("12345678"));
        check(b"1234\n5678\n", Ok("1234\n5678"));
        check(b"1234567", Err(ValueError::TooShort));
        check(b"1234567\n", Err(ValueError::TooShort));
        check(b"             ", Err(ValueError::TooShort));
        check(b"", Err(ValueError::TooShort));
        check("ääääääää".as_bytes(), Ok("ääääääää"));
        check("äääääää".as_bytes(), Err(ValueError::TooShort));
        check(b"12345\x0078", Err(ValueError::Nul));
        check(b"12345678\xff", Err(ValueError::NotText));
        assert!(Secret::new("x".repeat(MAX_SECRET_BYTES)).is_ok());
        let long = Secret::new("x".repeat(MAX_SECRET_BYTES + 1)).err();
        assert_eq!(long, Some(ValueError::TooLong { bytes: MAX_SECRET_BYTES + 1 }));
    }
}
