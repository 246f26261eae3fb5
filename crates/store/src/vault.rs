//! The vault: secrets encrypted at rest, as a folder with a private key file and a file of
//! encrypted values.
//!
//! Invariants
//! - A value is on disk only encrypted (AES-256-GCM), bound to its name and the time it was set, so
//!   rows cannot be swapped.
//! - A key is refused if other users may read it, if it belongs to another user, or if it does not
//!   decrypt the existing values; nothing is overwritten then.
//! - Files are replaced atomically, by one writer at a time; readers need no lock.
//! - An interrupted rotation leaves every value readable.
//!
//! Intentionally out of scope: the keyring of the operating system (servers have none), and
//! passphrases.
#![deny(clippy::indexing_slicing)]

mod error;
mod key_file;
mod private_files;
mod secret;
mod secrets_file;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolcrib_core::seal::{SEALED, SealError, Sealer};
use zeroize::Zeroizing;

use self::key_file::{ID_BYTES, Key, Keys};
use self::secrets_file::{SealedRow, SecretsFile};

pub use error::VaultError;
pub use secret::{MAX_SECRET_BYTES, MIN_SECRET_BYTES, NameError, Secret, SecretName, ValueError};

/// Associated data of sealed texts: keeps them apart from the secrets of the file.
const ABOUT_TEXT: &[u8] = b"toolcrib sealed text 1";

/// The vault in a folder, which is created at first use.
#[derive(Debug, Clone)]
pub struct Vault {
    folder: PathBuf,
}

/// A secret without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretInfo {
    /// Its name.
    pub name: SecretName,
    /// When it was set, in milliseconds since 1970.
    pub set_at: i64,
}

impl Vault {
    /// Creates a handle of the vault in this folder. Reads and creates no files yet.
    #[must_use]
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the secrets by name. Needs no key.
    ///
    /// # Errors
    /// [`VaultError`] if the file cannot be read.
    pub fn list(&self) -> Result<Vec<SecretInfo>, VaultError> {
        let rows = SecretsFile::read(&self.file())?;
        Ok(rows
            .rows
            .into_iter()
            .map(|(name, row)| SecretInfo { name, set_at: row.set_at })
            .collect())
    }

    /// Returns a number that changes with every change of the file, for callers that cache values.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        use std::os::unix::fs::MetadataExt as _;
        let mut hasher = DefaultHasher::new();
        let about = std::fs::metadata(self.file()).ok();
        about
            .map(|about| (about.ino(), about.mtime(), about.mtime_nsec(), about.len()))
            .hash(&mut hasher);
        hasher.finish()
    }

    /// Returns all secrets with their values; empty if there is no vault.
    ///
    /// # Errors
    /// [`VaultError`] if one of them cannot be read.
    pub fn read(&self) -> Result<BTreeMap<SecretName, Secret>, VaultError> {
        // Read the file before the key: a rotation writes the key file first, which then also
        // contains the previous key.
        let rows = SecretsFile::read(&self.file())?;
        if rows.rows.is_empty() {
            return Ok(BTreeMap::new());
        }
        rows.open(&self.needed_keys(&rows)?, &self.file())
    }

    /// Sets a secret; returns whether it replaced one.
    ///
    /// # Errors
    /// [`VaultError`]; nothing was changed.
    pub fn set(&self, name: &SecretName, value: &Secret, now_ms: i64) -> Result<bool, VaultError> {
        let _alone = private_files::lock(&self.folder)?;
        let mut rows = SecretsFile::read(&self.file())?;
        let alike = |other: &&SecretName| other.as_str().eq_ignore_ascii_case(name.as_str());
        if let Some(existing) = rows.rows.keys().filter(|other| *other != name).find(alike) {
            return Err(VaultError::NearlyThere { existing: existing.to_string() });
        }
        let keys = self.keys_or_new(&rows)?;
        // A key that does not decrypt the existing values would leave a file that no single key
        // decrypts.
        rows.open(&keys, &self.file())?;
        let row = SealedRow::seal(&keys.current, name, value, now_ms)?;
        let replaced = rows.rows.insert(name.clone(), row).is_some();
        private_files::write(&self.file(), rows.text().as_bytes())?;
        Ok(replaced)
    }

    /// Removes a secret; returns whether it existed. Needs no key.
    ///
    /// # Errors
    /// [`VaultError`]; nothing was changed.
    pub fn remove(&self, name: &SecretName) -> Result<bool, VaultError> {
        if !self.file().exists() {
            return Ok(false);
        }
        let _alone = private_files::lock(&self.folder)?;
        let mut rows = SecretsFile::read(&self.file())?;
        if rows.rows.remove(name).is_none() {
            return Ok(false);
        }
        private_files::write(&self.file(), rows.text().as_bytes())?;
        Ok(true)
    }

    /// Encrypts everything with a new key; returns the number of secrets. The previous key remains
    /// until the next rotation, to decrypt arguments sealed for waiting calls.
    ///
    /// # Errors
    /// [`VaultError`]; everything remains readable.
    pub fn rotate(&self) -> Result<usize, VaultError> {
        let _alone = private_files::lock(&self.folder)?;
        let rows = SecretsFile::read(&self.file())?;
        let keys = self.keys_or_new(&rows)?;
        let values = rows.open(&keys, &self.file())?;
        // An interrupted rotation may have left rows of the key that is removed now.
        if !values.is_empty() {
            private_files::write(
                &self.file(),
                rows.sealed_with(&keys.current, &values)?.text().as_bytes(),
            )?;
        }
        let new = Keys { current: Key::fresh()?, previous: Some(keys.current) };
        private_files::write(&self.key(), new.text().as_bytes())?;
        if !values.is_empty() {
            private_files::write(
                &self.file(),
                rows.sealed_with(&new.current, &values)?.text().as_bytes(),
            )?;
        }
        Ok(values.len())
    }

    fn file(&self) -> PathBuf {
        secrets_file::path(&self.folder)
    }

    fn key(&self) -> PathBuf {
        key_file::path(&self.folder)
    }

    /// Returns the keys for existing secrets.
    fn needed_keys(&self, rows: &SecretsFile) -> Result<Keys, VaultError> {
        Keys::read(&self.key())?.ok_or_else(|| VaultError::KeyMissing {
            key: self.key(),
            file: self.file(),
            secrets: rows.rows.len(),
        })
    }

    /// Returns the existing keys, or new ones if there are no secrets. The caller holds the lock.
    fn keys_or_new(&self, rows: &SecretsFile) -> Result<Keys, VaultError> {
        if !rows.rows.is_empty() {
            return self.needed_keys(rows);
        }
        if let Some(keys) = Keys::read(&self.key())? {
            return Ok(keys);
        }
        let keys = Keys { current: Key::fresh()?, previous: None };
        private_files::write(&self.key(), keys.text().as_bytes())?;
        Ok(keys)
    }

    /// Returns the key that seals texts, created if there is none.
    fn sealing_keys(&self) -> Result<Keys, VaultError> {
        if let Some(keys) = Keys::read(&self.key())? {
            return Ok(keys);
        }
        let _alone = private_files::lock(&self.folder)?;
        self.keys_or_new(&SecretsFile::read(&self.file())?)
    }
}

impl Sealer for Vault {
    fn seal(&self, text: &str) -> Result<String, SealError> {
        let failed = |error: VaultError| SealError(error.to_string());
        let key = self.sealing_keys().map_err(failed)?.current;
        let sealed = key.seal(text.as_bytes(), ABOUT_TEXT).map_err(failed)?;
        Ok(format!("{SEALED}{}", URL_SAFE_NO_PAD.encode([&key.id()[..], &sealed].concat())))
    }

    fn open(&self, sealed: &str) -> Result<String, SealError> {
        let wrong = |why: &str| SealError(why.to_owned());
        let text = sealed.strip_prefix(SEALED).ok_or_else(|| wrong("it is not sealed text"))?;
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong("it is damaged"))?;
        let (id, rest) =
            bytes.split_first_chunk::<ID_BYTES>().ok_or_else(|| wrong("it is damaged"))?;
        let keys = Keys::read(&self.key()).map_err(|error| SealError(error.to_string()))?;
        let key = keys.as_ref().and_then(|keys| keys.find(*id));
        let key = key.ok_or_else(|| {
            SealError(format!(
                "it was sealed with a key that is not in {} any more: it was rotated away, or is another machine's",
                self.key().display()
            ))
        })?;
        let opened: Zeroizing<Vec<u8>> =
            key.open(rest, ABOUT_TEXT).ok_or_else(|| wrong("it was changed"))?;
        String::from_utf8(opened.to_vec()).map_err(|_| wrong("it is not text"))
    }
}
