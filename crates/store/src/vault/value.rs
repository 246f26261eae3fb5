//! A secret and its name.
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

/// Fewest characters of a secret: shorter ones cannot be masked without damage to honest text (reliability research, 4.3).
pub const SHORTEST: usize = 8;
/// Most bytes of a secret.
pub const LONGEST: usize = 64 * 1024;
/// Most characters of a name.
const NAME_CHARS: usize = 100;

/// A secret's value: wiped from memory when it is dropped, and without a `Debug` form.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// A value that can be kept and masked.
    ///
    /// # Errors
    /// [`ValueError`].
    pub fn new(value: impl Into<String>) -> Result<Self, ValueError> {
        let value = Zeroizing::new(value.into());
        if value.trim().chars().count() < SHORTEST {
            return Err(ValueError::TooShort);
        }
        if value.len() > LONGEST {
            return Err(ValueError::TooLong { bytes: value.len() });
        }
        if value.contains('\0') {
            return Err(ValueError::Nul);
        }
        Ok(Self(value))
    }

    /// The same from bytes, such as those of standard input; the line break at their end is no part of the value.
    ///
    /// # Errors
    /// [`ValueError`].
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Self, ValueError> {
        let mut bytes = Zeroizing::new(bytes);
        for end in [b'\n', b'\r'] {
            if bytes.last() == Some(&end) {
                bytes.pop();
            }
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| ValueError::NotText)?;
        Self::new(text)
    }

    /// The value itself, for whoever uses it right now.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Why a value cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// It could not be masked.
    #[error(
        "the value is shorter than {SHORTEST} characters (blanks around it do not count): it could not be masked in results and logs without damage to other text, so it is not kept; use a longer one"
    )]
    TooShort,
    /// It is larger than any key.
    #[error("the value has {bytes} bytes, the limit is {LONGEST}")]
    TooLong {
        /// Its size.
        bytes: usize,
    },
    /// Programs could not be given it.
    #[error("the value holds a NUL character, so no program could be given it")]
    Nul,
    /// It is no text.
    #[error("the value is no UTF-8 text; encode it first, for example with base64")]
    NotText,
}

/// A secret's name: 1 to 100 of `a-z`, `A-Z`, `0-9`, `.`, `_` and `-`, and none at its ends but letters, digits and `_`. Upper case is there
/// because `TOOL.KEY` names the configuration key of a tool, and those are names of variables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

impl SecretName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tool and its configuration key that this secret is for, if its name says so: `TOOL.KEY`.
    #[must_use]
    pub fn of_tool(&self) -> Option<(&str, &str)> {
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

/// It is no name of a secret. What was given is not repeated: it may be the secret itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "that is no name of a secret: 1 to {NAME_CHARS} of a-z, A-Z, 0-9, `.`, `_` and `-`, beginning and ending with a letter, a digit or `_`, such as `openai` or `weather.API_KEY`"
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
        assert_eq!(name.of_tool(), Some(("weather", "API.KEY")));
        assert_eq!("openai".parse::<SecretName>().unwrap().of_tool(), None);
    }

    #[test]
    fn values_can_be_masked_and_given_to_programs() {
        let check = |bytes: &[u8], expected: Result<&str, ValueError>| {
            let made = Secret::of_bytes(bytes.to_vec());
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
        assert!(Secret::new("x".repeat(LONGEST)).is_ok());
        let long = Secret::new("x".repeat(LONGEST + 1)).err();
        assert_eq!(long, Some(ValueError::TooLong { bytes: LONGEST + 1 }));
    }
}
