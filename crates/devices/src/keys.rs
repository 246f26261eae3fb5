//! Keys of the two sides of a pairing: an ed25519 key, or a shared secret for HMAC-SHA256. Each
//! direction has its own key, so that a message cannot be sent back to its sender.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use ring::{digest, hmac};
use serde::{Deserialize, Serialize};

/// Bytes of a public key, of a seed and of a secret.
const KEY_BYTES: usize = 32;
/// Bytes of a fingerprint: 80 bits; a second key with the same ones cannot be found.
const FINGERPRINT_BYTES: usize = 10;

/// A key that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(&'static str);

/// The key that verifies messages of the other side.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerKey {
    /// A public key, in base64.
    Ed25519(String),
    /// A secret that both sides know, in base64.
    Hmac(String),
}

/// The key that signs our messages to one peer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OwnKey {
    /// The seed of a key pair, in base64.
    Ed25519(String),
    /// A secret that both sides know, in base64.
    Hmac(String),
}

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ed25519(_) => "PeerKey::Ed25519",
            Self::Hmac(_) => "PeerKey::Hmac",
        })
    }
}

impl fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnKey")
    }
}

impl PeerKey {
    /// Checks that the key has 32 bytes and is not a constant.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn check(&self) -> Result<(), KeyError> {
        let bytes = self.bytes()?;
        let first = bytes.first().copied().unwrap_or_default();
        if bytes.iter().all(|byte| *byte == first) {
            return Err(KeyError("the key is a constant; create it with a random generator"));
        }
        Ok(())
    }

    fn bytes(&self) -> Result<Vec<u8>, KeyError> {
        let (Self::Ed25519(text) | Self::Hmac(text)) = self;
        decoded(text).ok_or(KeyError("the key is not 32 bytes in base64"))
    }

    /// Returns the fingerprint that a person compares: groups of four hexadecimal digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let kind: &[u8] = match self {
            Self::Ed25519(_) => b"ed25519\n",
            Self::Hmac(_) => b"hmac\n",
        };
        let bytes = self.bytes().unwrap_or_default();
        let hash = digest::digest(&digest::SHA256, &[kind, &bytes].concat());
        let hex: Vec<String> = hash
            .as_ref()
            .iter()
            .take(FINGERPRINT_BYTES)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        hex.chunks(2).map(<[String]>::concat).collect::<Vec<_>>().join("-")
    }

    /// Returns whether a signature, in base64, belongs to a message. The comparison takes the same
    /// time for every wrong signature.
    pub(crate) fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let (Ok(key), Ok(signature)) = (self.bytes(), STANDARD.decode(signature.trim())) else {
            return false;
        };
        match self {
            Self::Ed25519(_) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, &signature).is_ok()
            }
            Self::Hmac(_) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
                hmac::verify(&key, message, &signature).is_ok()
            }
        }
    }

    /// Returns the secret, if it is one.
    pub(crate) fn secret(&self) -> Option<&str> {
        match self {
            Self::Ed25519(_) => None,
            Self::Hmac(secret) => Some(secret),
        }
    }
}

impl OwnKey {
    /// Creates a key of the same kind as the peer's.
    pub(crate) fn fresh_like(peer: &PeerKey) -> Result<Self, KeyError> {
        let text = STANDARD.encode(random_bytes::<KEY_BYTES>()?);
        Ok(match peer {
            PeerKey::Ed25519(_) => Self::Ed25519(text),
            PeerKey::Hmac(_) => Self::Hmac(text),
        })
    }

    /// Creates an ed25519 key.
    pub(crate) fn fresh_ed25519() -> Result<Self, KeyError> {
        Ok(Self::Ed25519(STANDARD.encode(random_bytes::<KEY_BYTES>()?)))
    }

    /// Returns the key with which the peer verifies our messages.
    pub(crate) fn peer_key(&self) -> Result<PeerKey, KeyError> {
        Ok(match self {
            Self::Ed25519(_) => {
                PeerKey::Ed25519(STANDARD.encode(self.key_pair()?.public_key().as_ref()))
            }
            Self::Hmac(secret) => PeerKey::Hmac(secret.clone()),
        })
    }

    /// Signs a message; the signature is base64.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<String, KeyError> {
        Ok(match self {
            Self::Ed25519(_) => STANDARD.encode(self.key_pair()?.sign(message).as_ref()),
            Self::Hmac(secret) => {
                let key = decoded(secret).ok_or(DAMAGED)?;
                let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
                STANDARD.encode(hmac::sign(&key, message).as_ref())
            }
        })
    }

    fn key_pair(&self) -> Result<Ed25519KeyPair, KeyError> {
        let (Self::Ed25519(text) | Self::Hmac(text)) = self;
        let seed = decoded(text).ok_or(DAMAGED)?;
        Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| DAMAGED)
    }

    /// Returns the secret part.
    pub(crate) fn secret(&self) -> &str {
        let (Self::Ed25519(text) | Self::Hmac(text)) = self;
        text
    }
}

const DAMAGED: KeyError = KeyError("a key in the vault is damaged; pair again");

fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok().filter(|bytes| bytes.len() == KEY_BYTES)
}

/// Returns random bytes.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| KeyError("this machine has no random numbers now; try again"))?;
    Ok(bytes)
}

/// Returns random bytes in hexadecimal digits.
pub(crate) fn random_hex<const N: usize>() -> Result<String, KeyError> {
    Ok(random_bytes::<N>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_sign_and_verify_and_no_other_key_does() {
        for theirs in
            [PeerKey::Ed25519(STANDARD.encode([7; 32])), PeerKey::Hmac(STANDARD.encode([7; 32]))]
        {
            let own = OwnKey::fresh_like(&theirs).unwrap();
            let other = OwnKey::fresh_like(&theirs).unwrap();
            let signature = own.sign(b"message").unwrap();
            let key = own.peer_key().unwrap();
            key.check().unwrap();
            assert!(key.verifies(b"message", &signature));
            assert!(!key.verifies(b"messagf", &signature));
            assert!(!other.peer_key().unwrap().verifies(b"message", &signature));
            for bad in ["", "zz", "AAAA", &signature[1..]] {
                assert!(!key.verifies(b"message", bad), "{bad}");
            }
            assert_eq!(key.fingerprint().len(), 24);
            assert_ne!(key.fingerprint(), other.peer_key().unwrap().fingerprint());
            assert!(!format!("{key:?}{own:?}").contains(own.secret()));
        }
    }

    #[test]
    fn short_and_constant_keys_are_refused() {
        for bad in ["", "AAAA", "no base64!", &STANDARD.encode([0; 32]), &STANDARD.encode([1; 33])]
        {
            assert!(PeerKey::Hmac(bad.to_owned()).check().is_err(), "{bad}");
            assert!(PeerKey::Ed25519(bad.to_owned()).check().is_err(), "{bad}");
        }
    }
}
