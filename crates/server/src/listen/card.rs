//! Where a daemon can be found: the file `address` in its folder, as long as it works; and the lock that keeps a second one out of there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_app::LockedFile;

use crate::daemon::StartError;

/// Name of the file with the address.
const ADDRESS: &str = "address";
/// Name of the file that is locked as long as a daemon works.
const LOCK: &str = "lock";

/// Where a daemon can be found, as its `address` file says it in JSON (mode 0600). What is left of a daemon that was killed has no living
/// process; a stop takes it away.
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
    /// What the daemon of this folder wrote; `None` = there is none.
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
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder: folder.to_owned(), _lock: lock }),
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
        assert_eq!((Address::read(folder).unwrap(), mode), (Some(address), 0o600));
        let error = Claim::of(folder).err().unwrap().to_string();
        assert!(error.contains("process 7") && error.contains("toolcrib stop"), "{error}");
        drop(claim);
        assert_eq!(Address::read(folder).unwrap(), None);
        drop(Claim::of(folder).unwrap());
    }
}
