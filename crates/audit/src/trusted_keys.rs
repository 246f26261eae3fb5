//! The public keys whose checkpoints are trusted.
#![deny(clippy::indexing_slicing)]

use ring::signature::{ED25519, UnparsedPublicKey};
use toolcrib_core::AuditCheckpoint;

use super::findings::Forgery;
use super::hex;

/// A line of a file of public keys that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// The line holds something else.
    #[error("line {line} is no public key: 64 hexadecimal digits in lower case are expected")]
    Line {
        /// Its number, from 1.
        line: usize,
    },
    /// The text holds no key.
    #[error("there is no public key in it")]
    Empty,
}

/// Public keys, those of the past included: records of the time of an older key stay provable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedKeys {
    keys: Vec<[u8; 32]>,
}

impl TrustedKeys {
    /// Keys from a text, one per line as 64 hexadecimal digits; empty lines and lines that begin
    /// with `#` do not count.
    ///
    /// # Errors
    /// [`TrustError`] with the line, also when there is no key at all.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys: Result<Vec<_>, _> =
            lines.map(|(line, text)| hex::array(text).ok_or(TrustError::Line { line })).collect();
        let keys = keys?;
        if keys.is_empty() { Err(TrustError::Empty) } else { Ok(Self { keys }) }
    }

    /// Whether this public key, in hexadecimal digits, is one of them.
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
}
