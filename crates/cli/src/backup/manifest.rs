//! What a backup says of itself.

use serde::{Deserialize, Serialize};

/// Version of the form of a backup.
pub(super) const FORMAT: u32 = 1;
/// Name of the manifest: the last entry, since it knows all others.
pub(super) const MANIFEST: &str = "manifest.json";

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Version of its form.
    pub(super) format: u32,
    /// Version of the program that made it.
    pub(crate) toolcrib: String,
    /// Version of the database in it; `None` = the database is elsewhere.
    pub(crate) store: Option<i32>,
    /// When, in milliseconds since 1970.
    pub(crate) made_at: i64,
    /// Whether keys are in it.
    pub(crate) keys: bool,
    /// Keys of the configuration that were left out, since their values are keys.
    #[serde(default)]
    pub(crate) left_out: Vec<String>,
    /// Every file, in the order of the archive.
    pub(crate) files: Vec<Entry>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Its place, with `/`: in `config/` or `state/`.
    pub(crate) path: String,
    /// Its length.
    pub(crate) bytes: u64,
    /// SHA-256, in hexadecimal digits.
    pub(crate) sha256: String,
}

impl Manifest {
    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
