//! Pairing codes: eight characters that a person types, from an alphabet without look-alikes.

use std::fmt;

use crate::keys::{KeyError, random_bytes};
use crate::signature::sha256_hex;

/// Letters and digits without I, L, O, U, 0 and 1.
const ALPHABET: &[u8] = b"ABCDEFGHJKMNPQRSTVWXYZ23456789";
/// Characters of a code: more than 39 bits.
const CODE_CHARS: usize = 8;

/// A code.
#[derive(Clone, PartialEq, Eq)]
pub struct PairingCode(String);

impl fmt::Debug for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PairingCode")
    }
}

impl PairingCode {
    /// Creates a random code.
    pub(crate) fn fresh() -> Result<Self, KeyError> {
        let mut code = String::new();
        // Bytes from this limit on would make some characters more frequent.
        let limit = 256 / ALPHABET.len() * ALPHABET.len();
        while code.len() < CODE_CHARS {
            let even = random_bytes::<16>()?.into_iter().filter(|byte| usize::from(*byte) < limit);
            let chars = even.filter_map(|byte| ALPHABET.get(usize::from(byte) % ALPHABET.len()));
            let missing = CODE_CHARS - code.len();
            code.extend(chars.take(missing).map(|byte| char::from(*byte)));
        }
        Ok(Self(code))
    }

    /// Reads a code as a person types it: in any case, with spaces and hyphens.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |c: &char| !c.is_whitespace() && *c != '-';
        let code: String = text
            .chars()
            .filter(plain)
            .map(|c| c.to_ascii_uppercase())
            .take(CODE_CHARS + 1)
            .collect();
        let is_known = |c: char| u8::try_from(c).is_ok_and(|byte| ALPHABET.contains(&byte));
        (code.len() == CODE_CHARS && code.chars().all(is_known)).then_some(Self(code))
    }

    /// Returns the code in two groups, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let (first, second) = self.0.split_at(CODE_CHARS / 2);
        format!("{first}-{second}")
    }

    /// Returns the stored form. A comparison may end early: the salt is secret.
    pub(crate) fn digest(&self, salt: &str) -> String {
        sha256_hex(format!("{salt}\n{}", self.0).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_random_and_read_as_typed() {
        let codes: Vec<String> = (0..200).map(|_| PairingCode::fresh().unwrap().shown()).collect();
        for code in &codes {
            assert_eq!(code.len(), 9, "{code}");
            let typed = code.to_lowercase().replace('-', " ");
            assert_eq!(PairingCode::parse(&typed).unwrap().shown(), *code);
        }
        let mut different = codes.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), codes.len());
        let all: std::collections::BTreeSet<char> = codes.concat().chars().collect();
        assert_eq!(all.len(), ALPHABET.len() + 1, "each character occurs");
        for bad in ["", "ABCD-EFG", "ABCD-EFGHJ", "ABCD-EFG0", "ABCD-EFGI", "ÄBCD-EFGH"] {
            assert!(PairingCode::parse(bad).is_none(), "{bad}");
        }
    }
}
