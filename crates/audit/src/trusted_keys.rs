//! The public keys whose checkpoints are trusted.
#![deny(clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use ring::signature::{ED25519, UnparsedPublicKey};
use toolcrib_core::AuditCheckpoint;

use super::findings::Forgery;
use super::hex;
use super::signing_key::PUBLIC_KEY_FILE;

/// An invalid line in a file of public keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// The line is not a key.
    #[error("line {line} is not a public key: 64 hexadecimal digits in lower case are expected")]
    Line {
        /// The line number, from 1.
        line: usize,
    },
    /// The text contains no key.
    #[error("it contains no public key")]
    Empty,
}

/// The reason why the public keys of an audit folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the public key {}: {why}", path.display())]
pub struct KeyFileError {
    path: PathBuf,
    why: String,
}

/// Earlier public keys, trusted besides the current one: for a backup that was restored without its
/// key.
pub const FORMER_KEYS_FILE: &str = "former-keys.pub";
/// Public keys of the other machines that share the database.
pub const OTHER_KEYS_FILE: &str = "other-keys.pub";

/// Public keys, including earlier ones: records signed with an older key remain verifiable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedKeys {
    keys: Vec<[u8; 32]>,
}

impl TrustedKeys {
    /// Parses keys from a text, one per line as 64 hexadecimal digits; empty lines and lines that
    /// begin with `#` are ignored.
    ///
    /// # Errors
    /// [`TrustError`] with the line, also if there is no key at all.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys: Result<Vec<_>, _> =
            lines.map(|(line, text)| hex::array(text).ok_or(TrustError::Line { line })).collect();
        let keys = keys?;
        if keys.is_empty() { Err(TrustError::Empty) } else { Ok(Self { keys }) }
    }

    /// Returns the keys that an audit folder trusts: its own, earlier ones, and those of the other
    /// machines that share the database. `None` if there is none.
    ///
    /// # Errors
    /// [`KeyFileError`] with the file that cannot be read or parsed.
    pub fn in_folder(folder: &Path) -> Result<Option<Self>, KeyFileError> {
        let names = [PUBLIC_KEY_FILE, FORMER_KEYS_FILE, OTHER_KEYS_FILE];
        let paths = names.into_iter().map(|name| folder.join(name)).filter(|path| path.exists());
        let mut all = Self::default();
        for path in paths {
            all.keys.extend(Self::read(&path)?.keys);
        }
        Ok((!all.keys.is_empty()).then_some(all))
    }

    /// Reads the keys of a file.
    ///
    /// # Errors
    /// [`KeyFileError`] if it cannot be read or parsed.
    pub fn read(path: &Path) -> Result<Self, KeyFileError> {
        let failed = |why: String| KeyFileError { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Self::parse(&text).map_err(|error| failed(error.to_string()))
    }

    /// Adds the keys of a text in the form of [`parse`](Self::parse).
    ///
    /// # Errors
    /// [`TrustError`] with the line.
    pub fn and(mut self, text: &str) -> Result<Self, TrustError> {
        self.keys.extend(Self::parse(text)?.keys);
        Ok(self)
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether this public key, in hexadecimal digits, is one of them.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        hex::array(key).is_some_and(|key| self.keys.contains(&key))
    }

    /// Verifies that one of these keys signed the checkpoint.
    ///
    /// # Errors
    /// [`Forgery`] if the key is not trusted or the signature is wrong.
    pub fn check(&self, checkpoint: &AuditCheckpoint) -> Result<(), Forgery> {
        let AuditCheckpoint { chain, seq, head, at, key, signature } = checkpoint;
        let payload = AuditCheckpoint::signing_payload(*chain, *seq, head, *at);
        self.check_signature(key, payload.as_bytes(), signature)
    }

    /// Verifies that this key, which must be one of these, signed these bytes.
    pub(super) fn check_signature(
        &self,
        key: &str,
        payload: &[u8],
        signature: &str,
    ) -> Result<(), Forgery> {
        let key: [u8; 32] = hex::array(key).ok_or(Forgery::UnknownKey)?;
        if !self.keys.contains(&key) {
            return Err(Forgery::UnknownKey);
        }
        let signature: [u8; 64] = hex::array(signature).ok_or(Forgery::Signature)?;
        let key = UnparsedPublicKey::new(&ED25519, key);
        key.verify(payload, &signature).map_err(|_| Forgery::Signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_with_comments_and_nothing_else() {
        let key = "ab".repeat(32);
        let keys =
            TrustedKeys::parse(&format!("# old\n\n  {key}  \r\n{}\n", "00".repeat(32))).unwrap();
        assert!(keys.contains(&key) && keys.contains(&"00".repeat(32)));
        assert!(!keys.contains(&"01".repeat(32)) && !keys.contains("ab"));
        let check = |text: &str, wanted: TrustError| {
            assert_eq!(TrustedKeys::parse(text).unwrap_err(), wanted);
        };
        check("", TrustError::Empty);
        check("# none\n", TrustError::Empty);
        check(&format!("{key}\n{}\n", &key[1..]), TrustError::Line { line: 2 });
        check("-----BEGIN PUBLIC KEY-----", TrustError::Line { line: 1 });
    }

    #[test]
    fn a_folder_trusts_its_own_former_and_other_keys() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(TrustedKeys::in_folder(folder.path()).unwrap(), None);
        let names = [PUBLIC_KEY_FILE, FORMER_KEYS_FILE, OTHER_KEYS_FILE];
        for (name, key) in names.into_iter().zip(["0a", "0b", "0c"]) {
            std::fs::write(folder.path().join(name), key.repeat(32)).unwrap();
        }
        let keys = TrustedKeys::in_folder(folder.path()).unwrap().unwrap();
        let keys = keys.and(&"0d".repeat(32)).unwrap();
        for key in ["0a", "0b", "0c", "0d"] {
            assert!(keys.contains(&key.repeat(32)), "{key}");
        }
        std::fs::write(folder.path().join(OTHER_KEYS_FILE), "no key").unwrap();
        let error = TrustedKeys::in_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains(OTHER_KEYS_FILE) && error.contains("line 1"), "{error}");
    }
}
