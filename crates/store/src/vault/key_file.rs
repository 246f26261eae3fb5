//! The key file of the vault, readable by its owner only. The first line is the current key; the
//! second, if present, only decrypts values sealed before the last rotation.
#![deny(clippy::indexing_slicing)]

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use super::error::VaultError;
use super::private_files;

/// First line of the file.
const HEADER: &str = "toolcrib vault key 1";
/// Bytes of a key of AES-256-GCM (NIST SP 800-38D).
const KEY_BYTES: usize = 32;
/// Bytes of a key id.
pub(super) const ID_BYTES: usize = 8;
/// Size limit, larger than any valid file.
const FILE_BYTES: u64 = 4096;

/// Identifies a key without revealing it.
pub(super) type KeyId = [u8; ID_BYTES];

/// One key.
pub(super) struct Key {
    bytes: Zeroizing<[u8; KEY_BYTES]>,
}

/// The keys of the file.
pub(super) struct Keys {
    pub(super) current: Key,
    /// The key before the last rotation.
    pub(super) previous: Option<Key>,
}

impl Key {
    pub(super) fn fresh() -> Result<Self, VaultError> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        SystemRandom::new().fill(&mut *bytes).map_err(|_| VaultError::Random)?;
        Ok(Self { bytes })
    }

    pub(super) fn id(&self) -> KeyId {
        let mut named = Zeroizing::new(b"toolcrib vault key id 1".to_vec());
        named.extend_from_slice(&*self.bytes);
        let hash = digest(&SHA256, &named);
        let mut id = [0; ID_BYTES];
        id.iter_mut().zip(hash.as_ref()).for_each(|(to, from)| *to = *from);
        id
    }

    fn cipher(&self) -> Result<LessSafeKey, VaultError> {
        let key = UnboundKey::new(&AES_256_GCM, &*self.bytes).map_err(|_| VaultError::Random)?;
        Ok(LessSafeKey::new(key))
    }

    /// Encrypts: nonce, then the ciphertext with its tag. A random nonce of 96 bits allows 2^32
    /// messages per key (NIST SP 800-38D, 8.3).
    pub(super) fn seal(&self, bytes: &[u8], about: &[u8]) -> Result<Vec<u8>, VaultError> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| VaultError::Random)?;
        let mut sealed = bytes.to_vec();
        self.cipher()?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(about),
                &mut sealed,
            )
            .map_err(|_| VaultError::Random)?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// Decrypts; `None` if the key or `about` differs, or if the data was changed.
    pub(super) fn open(&self, sealed: &[u8], about: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = Zeroizing::new(rest.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length =
            self.cipher().ok()?.open_in_place(nonce, Aad::from(about), &mut bytes).ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }
}

impl Keys {
    /// Reads the file; `None` if it does not exist.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, VaultError> {
        let io = |source| VaultError::Io { path: path.to_owned(), source };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        if let Some(folder) = path.parent() {
            private_files::check(folder, 0o022, 0o700)?;
        }
        private_files::check(path, 0o077, 0o600)?;
        let mut text = Zeroizing::new(String::new());
        let damaged = || VaultError::KeyDamaged { path: path.to_owned() };
        file.take(FILE_BYTES).read_to_string(&mut text).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => damaged(),
            _ => io(error),
        })?;
        Self::parse(&text).map(Some).ok_or_else(damaged)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        if lines.next()? != HEADER {
            return None;
        }
        let current = key(lines.next()?)?;
        let previous = lines.next().map(|line| key(line).ok_or(())).transpose().ok()?;
        lines.next().is_none().then_some(Self { current, previous })
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(format!("{HEADER}\n"));
        for key in std::iter::once(&self.current).chain(&self.previous) {
            text.push_str(&Zeroizing::new(STANDARD.encode(*key.bytes)));
            text.push('\n');
        }
        text
    }

    pub(super) fn find(&self, id: KeyId) -> Option<&Key> {
        std::iter::once(&self.current).chain(&self.previous).find(|key| key.id() == id)
    }
}

fn key(line: &str) -> Option<Key> {
    let decoded = Zeroizing::new(STANDARD.decode(line).ok()?);
    let bytes: [u8; KEY_BYTES] = decoded.as_slice().try_into().ok()?;
    Some(Key { bytes: Zeroizing::new(bytes) })
}

/// Returns the path of the key file.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("secrets.key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_the_same_key_and_subject_alone() {
        let (key, other) = (Key::fresh().unwrap(), Key::fresh().unwrap());
        assert_ne!(key.id(), other.id());
        let sealed = key.seal(b"text", b"about").unwrap();
        assert_ne!(sealed, key.seal(b"text", b"about").unwrap());
        assert_eq!(&**key.open(&sealed, b"about").unwrap(), b"text");
        assert!(key.open(&sealed, b"else").is_none() && other.open(&sealed, b"about").is_none());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(key.open(&changed, b"about").is_none(), "byte {at}");
            assert!(key.open(&sealed[..at], b"about").is_none(), "cut at {at}");
        }
    }

    #[test]
    fn the_file_reads_back_and_nothing_else_does() {
        let keys = Keys { current: Key::fresh().unwrap(), previous: Some(Key::fresh().unwrap()) };
        let text = keys.text();
        let back = Keys::parse(&text).unwrap();
        assert_eq!(back.current.id(), keys.current.id());
        assert_eq!(back.previous.unwrap().id(), keys.previous.as_ref().unwrap().id());
        assert!(keys.find(keys.current.id()).is_some() && keys.find([0; ID_BYTES]).is_none());
        let lines: Vec<&str> = text.lines().collect();
        assert!(Keys::parse(&format!("{}\n{}\n", lines[0], lines[1])).unwrap().previous.is_none());
        for wrong in ["", HEADER, &format!("{HEADER}\n"), &format!("{HEADER}\nAAAA\n")] {
            assert!(Keys::parse(wrong).is_none(), "{wrong:?}");
        }
        assert!(Keys::parse(&text[..text.len() - 1]).is_none(), "cut");
        assert!(Keys::parse(&format!("{}{}\n", *text, lines[1])).is_none(), "three keys");
    }
}
