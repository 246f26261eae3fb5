//! Why the vault cannot be used. The texts say what to do; none holds a value.

use std::io;
use std::path::PathBuf;

/// Why the vault cannot be used. Nothing was overwritten.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// A file or the folder cannot be made, read or written.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others may read the key, or put another in its place.
    #[error(
        "others may get at {} (mode {mode:03o}): close it with `chmod {wanted:03o} {}`; if somebody else may have read it, `toolcrib secret \
         rotate` makes a new key, and set the secrets themselves anew at their services",
        path.display(), path.display()
    )]
    TooOpen {
        /// The file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// What they should be.
        wanted: u32,
    },
    /// The key belongs to somebody else.
    #[error(
        "{} belongs to another user (uid {uid}), who may read or replace it: `chown` it to yourself, or move it away", path.display()
    )]
    NotOwned {
        /// The file or folder.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// There are secrets and no key.
    #[error(
        "the key {} is missing, and without it nobody can read the secrets in {} ({secrets}): put a copy of the key back; if there is \
         none, move {} away and set each secret again (`toolcrib secret list` still shows the names)",
        key.display(), file.display(), file.display()
    )]
    KeyMissing {
        /// Where the key should be.
        key: PathBuf,
        /// The file of secrets.
        file: PathBuf,
        /// How many there are.
        secrets: usize,
    },
    /// The file of the key holds none.
    #[error(
        "{} is damaged: put a copy of it back; if there is none, move it and secrets.json away and set each secret again", path.display()
    )]
    KeyDamaged {
        /// The file.
        path: PathBuf,
    },
    /// The file of secrets cannot be read.
    #[error("{} is damaged ({why}): put a copy of it back, or move it away and set each secret again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A newer Toolcrib wrote it.
    #[error("{} is of version {found}, and this build reads version {known}; update to use it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest that this build reads.
        known: u64,
    },
    /// A value was sealed with another key, or changed since.
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
    /// Two names that differ in upper and lower case alone.
    #[error(
        "there is a secret {existing} already, which differs in upper and lower case alone; remove it first, or use its name"
    )]
    NearlyThere {
        /// Its name.
        existing: String,
    },
    /// The system gave no random numbers.
    #[error("cannot seal anything: the system gives no random numbers")]
    Random,
}
