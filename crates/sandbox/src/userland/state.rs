//! State of a userland: stored in a file next to it, and checked against the folder.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::atomic_folder;
use super::error::UserlandError;

/// Paths that every system has; without them no program can run.
const ESSENTIAL: [&str; 3] = ["bin/sh", "etc", "lib"];

/// Number of attempts to lock the userland, and the wait between them.
const LOCK_TRIES: usize = 5;
/// See [`LOCK_TRIES`].
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// State of a userland. The states between absent and ready belong to an installation that is
/// running or was interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Not installed.
    #[default]
    Absent,
    /// The archive is being downloaded.
    Downloading {
        /// The mirror.
        mirror: String,
    },
    /// Digest and signature of the archive are being verified.
    Verifying,
    /// The archive is being unpacked.
    Unpacking,
    /// Programs can run in it.
    Ready(Ready),
    /// It exists but cannot be used.
    Broken {
        /// The reason.
        reason: String,
    },
}

/// Details of a ready userland.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Name of the release, such as `Alpine Linux`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its archive.
    pub sha256: String,
    /// Fingerprint of the key that signed the archive; `None` if the release names no signer.
    pub signed_by: Option<String>,
    /// Folder of its branch on a mirror.
    pub branch: String,
    /// The mirror of the archive.
    pub mirror: String,
    /// Mirrors for packages, in the order in which they are tried.
    pub mirrors: Vec<String>,
    /// The mirror in use for packages; `None` if none was reachable yet.
    pub repositories: Option<String>,
}

/// Status of a userland.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its state.
    #[serde(flatten)]
    pub state: State,
    /// Whether a process is changing it now.
    pub at_work: bool,
    /// Downloaded bytes of an archive, from which a download resumes.
    pub downloaded: u64,
    /// Its root folder on the host.
    pub root: PathBuf,
    /// Its home folder on the host.
    pub home: PathBuf,
}

impl State {
    /// Returns the state as the end of a sentence, with the next step.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Absent => "not installed; `toolcrib sandbox install` installs it".to_owned(),
            Self::Downloading { .. } | Self::Verifying | Self::Unpacking => {
                let step = self.word();
                format!("partly installed ({step}); `toolcrib sandbox install` continues")
            }
            Self::Ready(ready) => format!("ready ({} {})", ready.name, ready.version),
            Self::Broken { reason } => {
                format!("broken: {reason}; `toolcrib sandbox install` repairs it")
            }
        }
    }

    /// Returns the name of the state.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Downloading { .. } => "downloading",
            Self::Verifying => "verifying",
            Self::Unpacking => "unpacking",
            Self::Ready(_) => "ready",
            Self::Broken { .. } => "broken",
        }
    }
}

/// The folder layout of a userland.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
}

/// An exclusive lock. Released when dropped, or when the process ends for any reason.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held for its lock alone")] File);

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the root file system.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// Returns the path of a partially downloaded archive.
    pub(super) fn part(&self, archive: &str) -> PathBuf {
        self.folder.join(format!("{archive}.part"))
    }

    fn file(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    /// Locks the userland. The folder is created with access for its owner only, because files left
    /// by programs in it are private.
    pub(super) fn lock(&self) -> Result<Lock, UserlandError> {
        atomic_folder::private_folder(&self.folder).map_err(UserlandError::io_at(&self.folder))?;
        let path = self.folder.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(UserlandError::io_at(&path))?;
        for _ in 0..LOCK_TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock(file)),
                // The holder may only be reading the status.
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
                Err(error) => return Err(UserlandError::io_at(&path)(error.into())),
            }
        }
        Err(UserlandError::Busy)
    }

    fn is_locked(&self) -> bool {
        let Ok(file) = File::open(self.folder.join("lock")) else { return false };
        matches!(
            flock(&file, FlockOperation::NonBlockingLockShared),
            Err(rustix::io::Errno::WOULDBLOCK)
        )
    }

    /// Stores the state.
    pub(super) fn set(&self, state: &State) -> Result<(), UserlandError> {
        let write = || -> io::Result<()> {
            let fresh = self.folder.join("state.json.new");
            let mut file = File::create(&fresh)?;
            file.write_all(&serde_json::to_vec_pretty(state)?)?;
            file.sync_all()?;
            fs::rename(&fresh, self.file())?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(UserlandError::io_at(&self.file()))
    }

    /// Returns the stored state, without checking it.
    pub(super) fn stored_state(&self) -> State {
        match fs::read(self.file()) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| broken("its state file cannot be read")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.root().symlink_metadata().is_ok() {
                    broken("its state file is gone")
                } else {
                    State::Absent
                }
            }
            Err(error) => broken(&format!("its state file cannot be read ({error})")),
        }
    }

    /// Returns the stored state, checked against the folder.
    pub(super) fn state(&self) -> State {
        match self.stored_state() {
            State::Ready(ready) => match self.missing() {
                Some(reason) => State::Broken { reason },
                None => State::Ready(ready),
            },
            state => state,
        }
    }

    fn missing(&self) -> Option<String> {
        let root = self.root();
        if !root.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Some(format!("its folder {} is gone", root.display()));
        }
        let gone = ESSENTIAL.iter().find(|path| root.join(path).symlink_metadata().is_err())?;
        Some(format!("/{gone} is missing in it"))
    }

    pub(super) fn status(&self, home: &Path) -> Status {
        let parts = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let parts = parts.filter(|entry| entry.path().extension().is_some_and(|it| it == "part"));
        Status {
            state: self.state(),
            at_work: self.is_locked(),
            downloaded: parts.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum(),
            root: self.root(),
            home: home.to_owned(),
        }
    }
}

fn broken(reason: &str) -> State {
    State::Broken { reason: reason.to_owned() }
}
