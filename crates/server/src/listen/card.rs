//! Where a daemon can be found: the file `address` in its folder; and the lock that says whether one works there, and keeps a second one out.
//!
//! A number of a process says nothing of life: after a restart of the machine it is another program's. The system takes the lock from whoever ends, however.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_app::LockedFile;

use crate::daemon::StartError;

/// Name of the file with the address.
const ADDRESS: &str = "address";
/// Name of the file that is locked as long as a daemon works.
const LOCK: &str = "lock";
/// How often, and how long apart, a start tries for the lock: whoever looks whether a daemon works has it for a moment.
const TRIES: (u32, Duration) = (20, Duration::from_millis(10));

/// Where a daemon can be found, as its `address` file says it in JSON (mode 0600). One that was killed leaves it behind: ask
/// [`Address::of_living`] before its process is told anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Its TCP address, with the port that it got.
    #[serde(default)]
    pub tcp: Option<SocketAddr>,
    /// Whether it speaks TLS there.
    #[serde(default)]
    pub tls: bool,
    /// Its socket.
    #[serde(default)]
    pub unix: Option<PathBuf>,
    /// When it started, in milliseconds since 1970.
    pub started: i64,
}

impl Address {
    /// Where the daemon is that works in this folder; `None` = none works there, whatever one that died has left.
    ///
    /// # Errors
    /// A lock or an address file that cannot be read, or is none of ours.
    pub fn of_living(folder: &Path) -> io::Result<Option<Self>> {
        if is_held(&folder.join(LOCK))? { Self::read(folder) } else { Ok(None) }
    }

    /// What the last daemon of this folder wrote; `None` = it took it away when it ended.
    ///
    /// # Errors
    /// A file that cannot be read or is none of ours.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        match fs::read(folder.join(ADDRESS)) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether somebody holds this lock.
fn is_held(lock: &Path) -> io::Result<bool> {
    let lock = match File::open(lock) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    // Shared: those who only look do not take each other for daemons.
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(fs::TryLockError::WouldBlock) => Ok(true),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Takes the lock, unless a daemon has it.
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

/// A folder that no other daemon works in as long as this lives.
pub(super) struct Claim {
    folder: PathBuf,
    /// Unlocked when it is closed.
    _lock: File,
}

impl Claim {
    pub(super) fn of(folder: &Path) -> Result<Self, StartError> {
        let failed = |words: &str| {
            StartError::Listen(format!("the folder {} cannot be used: {words}", folder.display()))
        };
        let path = folder.join(LOCK);
        let opened =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let lock = opened.map_err(|error| failed(&error.to_string()))?;
        match take(&lock) {
            Ok(()) => {
                // What one that died has left would be taken for this one's.
                let left = fs::remove_file(folder.join(ADDRESS));
                match left.err().filter(|error| error.kind() != io::ErrorKind::NotFound) {
                    Some(error) => Err(failed(&error.to_string())),
                    None => Ok(Self { folder: folder.to_owned(), _lock: lock }),
                }
            }
            Err(fs::TryLockError::WouldBlock) => {
                let other = Address::read(folder).ok().flatten();
                let pid =
                    other.map(|other| format!(" (process {})", other.pid)).unwrap_or_default();
                Err(failed(&format!("another daemon works in it{pid}; `toolcrib stop` ends it")))
            }
            Err(fs::TryLockError::Error(error)) => Err(failed(&error.to_string())),
        }
    }

    /// Writes where the daemon can be found.
    pub(super) fn publish(&self, address: &Address) -> io::Result<()> {
        let file = LockedFile::wait(self.folder.join(ADDRESS))?;
        file.replace(&serde_json::to_string_pretty(address)?)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(ADDRESS));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn one_daemon_works_in_a_folder_and_says_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(Address::read(folder).unwrap(), None);
        let claim = Claim::of(folder).unwrap();
        let address = Address {
            pid: 7,
            version: "1.2.3".into(),
            tcp: Some(SocketAddr::from(([127, 0, 0, 1], 80))),
            tls: false,
            unix: None,
            started: 1,
        };
        claim.publish(&address).unwrap();
        let mode = fs::metadata(folder.join(ADDRESS)).unwrap().permissions().mode() & 0o777;
        assert_eq!((Address::read(folder).unwrap(), mode), (Some(address.clone()), 0o600));
        let error = Claim::of(folder).err().unwrap().to_string();
        assert!(error.contains("process 7") && error.contains("toolcrib stop"), "{error}");
        assert_eq!(Address::of_living(folder).unwrap(), Some(address.clone()));
        drop(claim);
        assert_eq!(Address::read(folder).unwrap(), None);
        assert_eq!(Address::of_living(folder).unwrap(), None);
        // One that was killed leaves its file; the next one does not pass for it.
        fs::write(folder.join(ADDRESS), serde_json::to_string(&address).unwrap()).unwrap();
        assert_eq!(Address::of_living(folder).unwrap(), None);
        let next = Claim::of(folder).unwrap();
        assert_eq!(Address::of_living(folder).unwrap(), None);
        drop(next);
    }

    /// Whoever starts a daemon while somebody asks for its state gets the folder.
    #[test]
    fn a_look_does_not_keep_a_daemon_out() {
        let folder = tempfile::tempdir().unwrap();
        drop(Claim::of(folder.path()).unwrap());
        let looks = File::open(folder.path().join(LOCK)).unwrap();
        looks.try_lock_shared().unwrap();
        assert!(!is_held(&folder.path().join(LOCK)).unwrap());
        let started = thread::spawn({
            let folder = folder.path().to_owned();
            move || Claim::of(&folder).map(drop)
        });
        drop(looks);
        started.join().unwrap().unwrap();
    }
}
