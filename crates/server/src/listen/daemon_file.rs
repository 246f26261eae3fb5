//! The address file of a daemon, and the lock that keeps a second daemon out of its folder.
//!
//! A process id does not show whether a daemon runs: after a restart of the machine, it may belong
//! to another program. The lock does, because the system releases it when its process ends for any
//! reason.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_app::LockedFile;

use crate::start_error::StartError;

/// Name of the address file.
const ADDRESS: &str = "address";
/// Name of the lock file.
const LOCK: &str = "lock";
/// Number of attempts of a starting daemon to lock, and the pause between them: a process that
/// checks whether a daemon runs holds the lock for a moment.
const TRIES: (u32, Duration) = (20, Duration::from_millis(10));

/// The addresses of a daemon: the content of its address file (JSON, mode 0600). A daemon that was
/// killed leaves the file behind: use [`DaemonAddress::read_live`] before sending anything to the
/// process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonAddress {
    /// Process id.
    pub pid: u32,
    /// Version.
    pub version: String,
    /// TCP address, with the actually bound port.
    #[serde(default)]
    pub tcp: Option<SocketAddr>,
    /// Whether TCP uses TLS.
    #[serde(default)]
    pub tls: bool,
    /// Unix socket.
    #[serde(default)]
    pub unix: Option<PathBuf>,
    /// Start time in milliseconds since 1970.
    pub started: i64,
}

impl DaemonAddress {
    /// Returns the address of the daemon that runs in this folder; `None` if none runs, even if a
    /// dead one left its address file.
    ///
    /// # Errors
    /// A lock or an address file that cannot be read, or is invalid.
    pub fn read_live(folder: &Path) -> io::Result<Option<Self>> {
        if is_held(&folder.join(LOCK))? { Self::read(folder) } else { Ok(None) }
    }

    /// Returns the address that the last daemon of this folder wrote; `None` if that daemon removed
    /// the file when it ended.
    ///
    /// # Errors
    /// A file that cannot be read or is invalid.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        match fs::read(folder.join(ADDRESS)) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether a process holds this lock.
fn is_held(lock: &Path) -> io::Result<bool> {
    let lock = match File::open(lock) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    // Lock shared, so that two processes that check do not mistake each other for a daemon.
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(fs::TryLockError::WouldBlock) => Ok(true),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Locks the file, unless a daemon holds the lock.
fn take(lock: &File) -> Result<(), fs::TryLockError> {
    let (tries, pause) = TRIES;
    for _ in 1..tries {
        match lock.try_lock() {
            Err(fs::TryLockError::WouldBlock) => thread::sleep(pause),
            taken => return taken,
        }
    }
    lock.try_lock()
}

/// The lock of a folder; no other daemon runs in it until this is dropped.
pub(super) struct DaemonLock {
    folder: PathBuf,
    /// The file; closing it releases the lock.
    _lock: File,
}

impl DaemonLock {
    pub(super) fn acquire(folder: &Path) -> Result<Self, StartError> {
        let failed = |why: &str| {
            StartError::Listen(format!("the folder {} cannot be used: {why}", folder.display()))
        };
        let path = folder.join(LOCK);
        let opened =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let lock = opened.map_err(|error| failed(&error.to_string()))?;
        match take(&lock) {
            Ok(()) => {
                // Readers would mistake the file of a dead daemon for the file of this one.
                let left = fs::remove_file(folder.join(ADDRESS));
                match left.err().filter(|error| error.kind() != io::ErrorKind::NotFound) {
                    Some(error) => Err(failed(&error.to_string())),
                    None => Ok(Self { folder: folder.to_owned(), _lock: lock }),
                }
            }
            Err(fs::TryLockError::WouldBlock) => {
                let other = DaemonAddress::read(folder).ok().flatten();
                let pid =
                    other.map(|other| format!(" (process {})", other.pid)).unwrap_or_default();
                Err(failed(&format!("another daemon runs in it{pid}; `toolcrib stop` ends it")))
            }
            Err(fs::TryLockError::Error(error)) => Err(failed(&error.to_string())),
        }
    }

    /// Writes the address file.
    pub(super) fn publish(&self, address: &DaemonAddress) -> io::Result<()> {
        let file = LockedFile::wait(self.folder.join(ADDRESS))?;
        file.replace(&serde_json::to_string_pretty(address)?)
    }
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(ADDRESS));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn one_daemon_runs_in_a_folder_and_publishes_its_address() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(DaemonAddress::read(folder).unwrap(), None);
        let claim = DaemonLock::acquire(folder).unwrap();
        let address = DaemonAddress {
            pid: 7,
            version: "1.2.3".into(),
            tcp: Some(SocketAddr::from(([127, 0, 0, 1], 80))),
            tls: false,
            unix: None,
            started: 1,
        };
        claim.publish(&address).unwrap();
        let mode = fs::metadata(folder.join(ADDRESS)).unwrap().permissions().mode() & 0o777;
        assert_eq!((DaemonAddress::read(folder).unwrap(), mode), (Some(address.clone()), 0o600));
        let error = DaemonLock::acquire(folder).err().unwrap().to_string();
        assert!(error.contains("process 7") && error.contains("toolcrib stop"), "{error}");
        assert_eq!(DaemonAddress::read_live(folder).unwrap(), Some(address.clone()));
        drop(claim);
        assert_eq!(DaemonAddress::read(folder).unwrap(), None);
        assert_eq!(DaemonAddress::read_live(folder).unwrap(), None);
        // A killed daemon leaves its file, which does not count as a running daemon.
        fs::write(folder.join(ADDRESS), serde_json::to_string(&address).unwrap()).unwrap();
        assert_eq!(DaemonAddress::read_live(folder).unwrap(), None);
        let next = DaemonLock::acquire(folder).unwrap();
        assert_eq!(DaemonAddress::read_live(folder).unwrap(), None);
        drop(next);
    }

    /// A daemon starts even while another process checks whether one runs.
    #[test]
    fn a_check_does_not_keep_a_daemon_out() {
        let folder = tempfile::tempdir().unwrap();
        drop(DaemonLock::acquire(folder.path()).unwrap());
        let looks = File::open(folder.path().join(LOCK)).unwrap();
        looks.try_lock_shared().unwrap();
        assert!(!is_held(&folder.path().join(LOCK)).unwrap());
        let started = thread::spawn({
            let folder = folder.path().to_owned();
            move || DaemonLock::acquire(&folder).map(drop)
        });
        drop(looks);
        started.join().unwrap().unwrap();
    }
}
