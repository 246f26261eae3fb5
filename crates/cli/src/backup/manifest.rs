//! The manifest of a backup.

use serde::{Deserialize, Serialize};

/// Version of the backup format.
pub(super) const FORMAT: u32 = 1;
/// Name of the manifest: the last entry, because it lists all others.
pub(super) const MANIFEST: &str = "manifest.json";

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Version of the backup format.
    pub(super) format: u32,
    /// Version of the program that created the backup.
    pub(crate) toolcrib: String,
    /// Version of the included database; `None` if the database is on a server.
    pub(crate) store: Option<i32>,
    /// Time of creation in milliseconds since 1970.
    pub(crate) made_at: i64,
    /// Whether the backup contains keys.
    pub(crate) keys: bool,
    /// Configuration keys that were left out because their values are keys.
    #[serde(default)]
    pub(crate) left_out: Vec<String>,
    /// Every file, in the order of the archive.
    pub(crate) files: Vec<Entry>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Its path with `/`, in `config/` or `state/`.
    pub(crate) path: String,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// SHA-256, in hexadecimal digits.
    pub(crate) sha256: String,
}

impl Manifest {
    /// Returns the total size of all files in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
