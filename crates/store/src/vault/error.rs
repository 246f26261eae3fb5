//! Errors of the vault. Messages name the remedy and never contain a value.

use std::io;
use std::path::PathBuf;

/// Error of the vault. Nothing was overwritten.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// A file or the folder cannot be created, read or written.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other users may read or replace the key.
    #[error(
        "other users can access {} (mode {mode:03o}): close it with `chmod {wanted:03o} {}`; if another user may have read it, `toolcrib secret \
         rotate` makes a new key, and set the secrets themselves anew at their services",
        path.display(), path.display()
    )]
    TooOpen {
        /// The file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The required permission bits.
        wanted: u32,
    },
    /// The key belongs to another user.
    #[error(
        "{} belongs to another user (uid {uid}), who may read or replace it: `chown` it to yourself, or move it away", path.display()
    )]
    NotOwned {
        /// The file or folder.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// The key is missing, but there are secrets.
    #[error(
        "the key {} is missing, and without it the secrets cannot be read in {} ({secrets}): put a copy of the key back; if there is \
         none, move {} away and set each secret again (`toolcrib secret list` still shows the names)",
        key.display(), file.display(), file.display()
    )]
    KeyMissing {
        /// Path of the key.
        key: PathBuf,
        /// The file of secrets.
        file: PathBuf,
        /// Number of secrets.
        secrets: usize,
    },
    /// The key file is damaged.
    #[error(
        "{} is damaged: restore a copy of it; if there is none, move it and secrets.json away and set each secret again", path.display()
    )]
    KeyDamaged {
        /// The file.
        path: PathBuf,
    },
    /// The file of secrets cannot be read.
    #[error("{} is damaged ({why}): restore a copy of it, or move it away and set each secret again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// A newer Toolcrib wrote the file.
    #[error("{} is of version {found}, and this build reads version {known}; update to use it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// Newest version that this build reads.
        known: u64,
    },
    /// A value was encrypted with another key, or changed since.
    #[error(
        "the secret {name} in {} does not open: the key beside it is another one, or the file was changed; put the right copies back, or \
         move the file away and set each secret again", path.display()
    )]
    DoesNotOpen {
        /// The secret.
        name: String,
        /// The file of secrets.
        path: PathBuf,
    },
    /// The name of an existing secret differs only in case.
    #[error(
        "there is a secret {existing} already, which differs only in upper and lower case; remove it first, or use its name"
    )]
    NearlyThere {
        /// Its name.
        existing: String,
    },
    /// The system's random number generator failed.
    #[error("cannot encrypt: the system's random number generator failed")]
    Random,
}
