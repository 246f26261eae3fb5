//! The file of secrets: names in plain text, values encrypted one by one, each bound to its name.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::error::VaultError;
use super::key_file::{ID_BYTES, Key, KeyId, Keys};
use super::secret::{Secret, SecretName};

/// Version of the file format.
const VERSION: u64 = 1;
/// Size limit, larger than any valid file: a few hundred secrets of the largest size.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The parsed file.
#[derive(Debug, Default)]
pub(super) struct SecretsFile {
    pub(super) rows: BTreeMap<SecretName, SealedRow>,
}

/// One encrypted secret.
#[derive(Debug, Clone)]
pub(super) struct SealedRow {
    key: KeyId,
    sealed: Vec<u8>,
    pub(super) set_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileFormat {
    version: u64,
    secrets: BTreeMap<String, FileFormatRow>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileFormatRow {
    key: String,
    sealed: String,
    set_at: i64,
}

/// Returns the associated data of a row, which does not decrypt under another name or time.
fn about(name: &SecretName, set_at: i64) -> Vec<u8> {
    format!("toolcrib secret {VERSION}\0{name}\0{set_at}").into_bytes()
}

impl SealedRow {
    pub(super) fn seal(
        key: &Key,
        name: &SecretName,
        value: &Secret,
        set_at: i64,
    ) -> Result<Self, VaultError> {
        let sealed = key.seal(value.expose().as_bytes(), &about(name, set_at))?;
        Ok(Self { key: key.id(), sealed, set_at })
    }

    pub(super) fn open(&self, keys: &Keys, name: &SecretName) -> Option<Secret> {
        let bytes = keys.find(self.key)?.open(&self.sealed, &about(name, self.set_at))?;
        let text = Zeroizing::new(String::from_utf8(bytes.to_vec()).ok()?);
        Secret::new(text.as_str()).ok()
    }
}

impl SecretsFile {
    /// Reads the file; a missing file is empty.
    pub(super) fn read(path: &Path) -> Result<Self, VaultError> {
        let damaged = |why: String| VaultError::Damaged { path: path.to_owned(), why };
        let mut text = String::new();
        match std::fs::File::open(path) {
            Ok(file) => {
                let read = file.take(FILE_BYTES).read_to_string(&mut text);
                read.map_err(|source| VaultError::Io { path: path.to_owned(), source })?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => return Err(VaultError::Io { path: path.to_owned(), source }),
        }
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if let Some(found) = value.get("version").and_then(serde_json::Value::as_u64)
            && found > VERSION
        {
            return Err(VaultError::Newer { path: path.to_owned(), found, known: VERSION });
        }
        let written: FileFormat =
            serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        let mut rows = BTreeMap::new();
        for (name, row) in written.secrets {
            let row = row.read().ok_or_else(|| damaged(format!("the secret {name:?}")))?;
            let name = name.parse().map_err(|_| damaged(format!("the name {name:?}")))?;
            rows.insert(name, row);
        }
        Ok(Self { rows })
    }

    pub(super) fn text(&self) -> String {
        let row = |row: &SealedRow| FileFormatRow {
            key: STANDARD.encode(row.key),
            sealed: STANDARD.encode(&row.sealed),
            set_at: row.set_at,
        };
        let secrets = self.rows.iter().map(|(name, kept)| (name.to_string(), row(kept))).collect();
        let written = FileFormat { version: VERSION, secrets };
        // Plain data always serializes.
        serde_json::to_string_pretty(&written).unwrap_or_default() + "\n"
    }

    /// Returns all values decrypted; the error is the first that does not decrypt.
    pub(super) fn open(
        &self,
        keys: &Keys,
        path: &Path,
    ) -> Result<BTreeMap<SecretName, Secret>, VaultError> {
        let open = |(name, row): (&SecretName, &SealedRow)| match row.open(keys, name) {
            Some(value) => Ok((name.clone(), value)),
            None => Err(VaultError::DoesNotOpen { name: name.to_string(), path: path.to_owned() }),
        };
        self.rows.iter().map(open).collect()
    }

    /// Returns the same values encrypted with this key.
    pub(super) fn sealed_with(
        &self,
        key: &Key,
        values: &BTreeMap<SecretName, Secret>,
    ) -> Result<Self, VaultError> {
        let mut rows = BTreeMap::new();
        for (name, value) in values {
            let set_at = self.rows.get(name).map_or(0, |row| row.set_at);
            rows.insert(name.clone(), SealedRow::seal(key, name, value, set_at)?);
        }
        Ok(Self { rows })
    }
}

impl FileFormatRow {
    fn read(self) -> Option<SealedRow> {
        let key: [u8; ID_BYTES] = STANDARD.decode(self.key).ok()?.try_into().ok()?;
        Some(SealedRow { key, sealed: STANDARD.decode(self.sealed).ok()?, set_at: self.set_at })
    }
}

/// Returns the path of the file.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("secrets.json")
}
