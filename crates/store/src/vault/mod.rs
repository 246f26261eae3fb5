//! Secrets, encrypted at rest: a folder with a key that only its owner reads and a file of values that are sealed with it.
//!
//! Invariants
//! - A value is on disk only sealed (AES-256-GCM), bound to its name and to when it was set; rows cannot be swapped.
//! - A key that others may read, that belongs to somebody else, or that does not open what is there, is refused; nothing is overwritten then.
//! - Files are replaced whole, by one writer at a time; whoever reads needs no lock.
//! - A rotation that is cut off at any point leaves everything readable.
//!
//! Absent on purpose: the keyring of an operating system (there is none on servers), and passphrases.
#![deny(clippy::indexing_slicing)]

mod error;
mod key;
mod place;
mod rows;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolcrib_core::seal::{SEALED, SealError, Sealer};
use zeroize::Zeroizing;

use self::key::{ID_BYTES, Key, Keys};
use self::rows::{Row, Rows};

pub use error::VaultError;
pub use value::{LONGEST, NameError, SHORTEST, Secret, SecretName, ValueError};

/// What a sealed text is bound to: it is no secret of the file, and a secret of the file is none.
const ABOUT_TEXT: &[u8] = b"toolcrib sealed text 1";

/// The vault in a folder, which is made at first use.
#[derive(Debug, Clone)]
pub struct Vault {
    folder: PathBuf,
}

/// A secret without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: SecretName,
    /// Milliseconds since 1970 when it was set.
    pub set_at: i64,
}

impl Vault {
    /// The vault in this folder. Nothing is read or made yet.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The secrets by name. Needs no key.
    ///
    /// # Errors
    /// [`VaultError`] when the file cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, VaultError> {
        let rows = Rows::read(&self.file())?;
        Ok(rows.rows.into_iter().map(|(name, row)| Listed { name, set_at: row.set_at }).collect())
    }

    /// Another number when the file is another than before, which it is after each change; for whoever keeps values of it for a while.
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

    /// Every secret with its value; none where there is no vault.
    ///
    /// # Errors
    /// [`VaultError`] when one of them cannot be read.
    pub fn read(&self) -> Result<BTreeMap<SecretName, Secret>, VaultError> {
        // The file before the key: a rotation writes the key first, with the one before it.
        let rows = Rows::read(&self.file())?;
        if rows.rows.is_empty() {
            return Ok(BTreeMap::new());
        }
        rows.open(&self.needed_keys(&rows)?, &self.file())
    }

    /// Keeps a secret; whether it replaced one.
    ///
    /// # Errors
    /// [`VaultError`]; then nothing was changed.
    pub fn set(&self, name: &SecretName, value: &Secret, now_ms: i64) -> Result<bool, VaultError> {
        let _alone = place::lock(&self.folder)?;
        let mut rows = Rows::read(&self.file())?;
        let alike = |other: &&SecretName| other.as_str().eq_ignore_ascii_case(name.as_str());
        if let Some(existing) = rows.rows.keys().filter(|other| *other != name).find(alike) {
            return Err(VaultError::NearlyThere { existing: existing.to_string() });
        }
        let keys = self.keys_or_new(&rows)?;
        // A key that does not open what is there would leave a file that no key opens.
        rows.open(&keys, &self.file())?;
        let row = Row::seal(&keys.current, name, value, now_ms)?;
        let replaced = rows.rows.insert(name.clone(), row).is_some();
        place::write(&self.file(), rows.text().as_bytes())?;
        Ok(replaced)
    }

    /// Removes a secret; whether it was there. Needs no key.
    ///
    /// # Errors
    /// [`VaultError`]; then nothing was changed.
    pub fn remove(&self, name: &SecretName) -> Result<bool, VaultError> {
        if !self.file().exists() {
            return Ok(false);
        }
        let _alone = place::lock(&self.folder)?;
        let mut rows = Rows::read(&self.file())?;
        if rows.rows.remove(name).is_none() {
            return Ok(false);
        }
        place::write(&self.file(), rows.text().as_bytes())?;
        Ok(true)
    }

    /// Seals everything with a new key; how many secrets there are. The key before it is kept, to open what was sealed for calls that
    /// wait, until the next rotation.
    ///
    /// # Errors
    /// [`VaultError`]; then everything opens as before.
    pub fn rotate(&self) -> Result<usize, VaultError> {
        let _alone = place::lock(&self.folder)?;
        let rows = Rows::read(&self.file())?;
        let keys = self.keys_or_new(&rows)?;
        let values = rows.open(&keys, &self.file())?;
        // A rotation that was cut off may have left rows of the key that goes now.
        if !values.is_empty() {
            place::write(
                &self.file(),
                rows.sealed_with(&keys.current, &values)?.text().as_bytes(),
            )?;
        }
        let new = Keys { current: Key::fresh()?, previous: Some(keys.current) };
        place::write(&self.key(), new.text().as_bytes())?;
        if !values.is_empty() {
            place::write(&self.file(), rows.sealed_with(&new.current, &values)?.text().as_bytes())?;
        }
        Ok(values.len())
    }

    fn file(&self) -> PathBuf {
        rows::path(&self.folder)
    }

    fn key(&self) -> PathBuf {
        key::path(&self.folder)
    }

    /// The keys of secrets that are there.
    fn needed_keys(&self, rows: &Rows) -> Result<Keys, VaultError> {
        Keys::read(&self.key())?.ok_or_else(|| VaultError::KeyMissing {
            key: self.key(),
            file: self.file(),
            secrets: rows.rows.len(),
        })
    }

    /// The same, or new ones where there is nothing that they would have to open. The lock is held.
    fn keys_or_new(&self, rows: &Rows) -> Result<Keys, VaultError> {
        if !rows.rows.is_empty() {
            return self.needed_keys(rows);
        }
        if let Some(keys) = Keys::read(&self.key())? {
            return Ok(keys);
        }
        let keys = Keys { current: Key::fresh()?, previous: None };
        place::write(&self.key(), keys.text().as_bytes())?;
        Ok(keys)
    }

    /// The key that seals texts, made if there is none.
    fn sealing_keys(&self) -> Result<Keys, VaultError> {
        if let Some(keys) = Keys::read(&self.key())? {
            return Ok(keys);
        }
        let _alone = place::lock(&self.folder)?;
        self.keys_or_new(&Rows::read(&self.file())?)
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
        let text = sealed.strip_prefix(SEALED).ok_or_else(|| wrong("it is no sealed text"))?;
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
        String::from_utf8(opened.to_vec()).map_err(|_| wrong("it is no text"))
    }
}
