//! The key that signs checkpoints: a separate file outside the database that only its owner can
//! read.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use toolcrib_core::{AuditSigner, canonical_json};

/// Name of the key: Ed25519 as PKCS#8 version 2 (RFC 8410, RFC 5958).
pub const KEY_FILE: &str = "audit-key.pk8";
/// Name of the public key beside it: 64 hexadecimal digits on one line.
pub const PUBLIC_KEY_FILE: &str = "audit-key.pub";
/// The process that has locked this file creates the others.
const LOCK_FILE: &str = "audit-key.lock";
/// More than any key of this kind has (85 bytes); a longer file is not a key.
const KEY_BYTES: u64 = 1024;

/// The reasons why there is no signing key. The messages state the remedy.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file or its folder cannot be created or read.
    #[error("cannot use the audit key {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other users can read or replace the key, so its signatures prove nothing.
    #[error(
        "other users have access to {} (mode {mode:03o}): restrict it with `chmod {wanted:03o}`; if another user may have read the key, move \
         it away so that a new one is created, and keep the old public key for earlier records",
        path.display()
    )]
    TooOpen {
        /// The file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The required permission bits.
        wanted: u32,
    },
    /// The file does not contain a key.
    #[error(
        "{} is damaged: restore a copy of it, or move it and its public key away, so that a new key is created; keep the old public key for \
         earlier records",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The public key file does not match the key.
    #[error(
        "{} is not the public key of the key beside it: one of them was replaced; if you replaced the key, move the public key away, so \
         that it is written again",
        path.display()
    )]
    Mismatch {
        /// The public key's file.
        path: PathBuf,
    },
    /// The system returned no random numbers.
    #[error("cannot create an audit key: the system returned no random numbers")]
    Random,
}

/// The key that signs the checkpoints of the audit.
pub struct AuditKey {
    pair: Ed25519KeyPair,
}

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditKey").field("public_key", &self.public_key()).finish()
    }
}

impl AuditKey {
    /// Reads the key of this folder, or creates it at first use, including the folder and the
    /// public key file. Processes that do this at the same time get the same key. Blocks for some
    /// milliseconds while the key is created.
    ///
    /// # Errors
    /// [`KeyError`], with the remedy.
    pub fn open(folder: &Path) -> Result<Self, KeyError> {
        let path = folder.join(KEY_FILE);
        let published = folder.join(PUBLIC_KEY_FILE);
        if !path.try_exists().map_err(io_at(&path))?
            || !published.try_exists().map_err(io_at(&published))?
        {
            make(folder)?;
        }
        check_mode(folder, 0o022, 0o700)?;
        let key = read(&path)?;
        let said = fs::read_to_string(&published).map_err(io_at(&published))?;
        if said.trim_end() != key.public_key() {
            return Err(KeyError::Mismatch { path: published });
        }
        Ok(key)
    }
}

impl AuditSigner for AuditKey {
    fn public_key(&self) -> String {
        canonical_json::hex(self.pair.public_key().as_ref())
    }

    fn sign(&self, bytes: &[u8]) -> String {
        canonical_json::hex(self.pair.sign(bytes).as_ref())
    }
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> KeyError + '_ {
    move |source| KeyError::Io { path: path.to_owned(), source }
}

fn read(path: &Path) -> Result<AuditKey, KeyError> {
    let file = File::open(path).map_err(io_at(path))?;
    check_mode(path, 0o077, 0o600)?;
    let mut bytes = Vec::new();
    file.take(KEY_BYTES).read_to_end(&mut bytes).map_err(io_at(path))?;
    // Version 2 contains the public key too, which is checked against the private one.
    let pair = Ed25519KeyPair::from_pkcs8(&bytes);
    Ok(AuditKey { pair: pair.map_err(|_| KeyError::Damaged { path: path.to_owned() })? })
}

/// Creates the missing files; the lock serializes processes.
fn make(folder: &Path) -> Result<(), KeyError> {
    let mut folders = DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
    folders.create(folder).map_err(io_at(folder))?;
    let lock = folder.join(LOCK_FILE);
    let held = private().truncate(false).open(&lock).map_err(io_at(&lock))?;
    held.lock().map_err(io_at(&lock))?;
    let path = folder.join(KEY_FILE);
    let key = if path.try_exists().map_err(io_at(&path))? {
        read(&path)?
    } else {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        write(&path, made.map_err(|_| KeyError::Random)?.as_ref())?;
        read(&path)?
    };
    let published = folder.join(PUBLIC_KEY_FILE);
    if !published.try_exists().map_err(io_at(&published))? {
        write(&published, format!("{}\n", key.public_key()).as_bytes())?;
    }
    Ok(())
}

/// Writes a file atomically and durably (it survives a power cut). The caller has the lock.
fn write(path: &Path, bytes: &[u8]) -> Result<(), KeyError> {
    let draft = path.with_extension("new");
    let written = (|| {
        let mut file = private().truncate(true).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        // Only on Unix can a folder be opened and synced like a file.
        let folder = path.parent().filter(|_| cfg!(unix));
        folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    })();
    written.map_err(io_at(path))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns an error if other users have one of these permissions.
#[cfg(unix)]
fn check_mode(path: &Path, forbidden: u32, wanted: u32) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).map_err(io_at(path))?.permissions().mode() & 0o777;
    if mode & forbidden == 0 {
        return Ok(());
    }
    Err(KeyError::TooOpen { path: path.to_owned(), mode, wanted })
}

/// Accepts every mode: on other systems permissions are not bits, and by default other users have
/// no access to the user's folder.
#[cfg(not(unix))]
fn check_mode(_path: &Path, _forbidden: u32, _wanted: u32) -> Result<(), KeyError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrustedKeys;
    use std::sync::Barrier;

    #[test]
    fn a_key_is_made_once_and_signs() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("a/b");
        let key = AuditKey::open(&folder).unwrap();
        let again = AuditKey::open(&folder).unwrap();
        assert_eq!(key.public_key(), again.public_key());
        assert_eq!(key.sign(b"x"), again.sign(b"x"));
        let published = fs::read_to_string(folder.join(PUBLIC_KEY_FILE)).unwrap();
        assert_eq!(published, format!("{}\n", key.public_key()));
        assert!(TrustedKeys::parse(&published).unwrap().contains(&key.public_key()));
        assert!(!format!("{key:?}").contains("pair"));
        fs::remove_file(folder.join(PUBLIC_KEY_FILE)).unwrap();
        AuditKey::open(&folder).unwrap();
        assert_eq!(fs::read_to_string(folder.join(PUBLIC_KEY_FILE)).unwrap(), published);
    }

    #[test]
    fn many_at_once_end_with_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let start = Barrier::new(8);
        let keys: Vec<String> = std::thread::scope(|scope| {
            let open = || {
                start.wait();
                AuditKey::open(folder.path()).unwrap().public_key()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
    }

    #[test]
    fn what_is_damaged_or_replaced_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        AuditKey::open(folder.path()).unwrap();
        let path = folder.path().join(KEY_FILE);
        let published = folder.path().join(PUBLIC_KEY_FILE);
        let good = fs::read(&path).unwrap();
        let check = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let error = AuditKey::open(folder.path()).unwrap_err();
            assert!(matches!(error, KeyError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("move it and its public key away"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "left as it was");
        };
        check(b"");
        check(&good[..good.len() - 1]);
        check(&vec![b'x'; 5000]);
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert!(AuditKey::open(folder.path()).is_err(), "byte {at}");
        }
        fs::write(&path, &good).unwrap();
        fs::write(&published, "00\n").unwrap();
        let error = AuditKey::open(folder.path()).unwrap_err();
        assert!(matches!(error, KeyError::Mismatch { .. }), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_reach_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("audit");
        AuditKey::open(&folder).unwrap();
        let path = folder.join(KEY_FILE);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        let check = |path: &Path, mode: u32, wanted: Option<&str>| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            let opened = AuditKey::open(&folder);
            match (opened, wanted) {
                (Ok(_), None) => {}
                (Err(error @ KeyError::TooOpen { .. }), Some(wanted)) => {
                    assert!(error.to_string().contains(wanted), "{error}");
                }
                (other, _) => panic!("{mode:o}: {other:?}"),
            }
        };
        check(&path, 0o640, Some("chmod 600"));
        check(&path, 0o604, Some("chmod 600"));
        check(&path, 0o400, None);
        check(&folder, 0o770, Some("chmod 700"));
        check(&folder, 0o755, None);
    }
}
