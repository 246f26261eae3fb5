//! How a userland is, kept in a file beside it, and whether that is still so.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::error::UserlandError;
use super::place;

/// What every system has, a link or not; without it there is nothing to run.
const ESSENTIAL: [&str; 3] = ["bin/sh", "etc", "lib"];

/// How often the right to change it is asked for, and the time in between.
const LOCK_TRIES: usize = 5;
/// See [`LOCK_TRIES`].
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// How a userland is. The states between absent and ready are those of an installation at work, or of one that broke off.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// There is none.
    #[default]
    Absent,
    /// Its archive is being fetched.
    Downloading {
        /// The mirror.
        mirror: String,
    },
    /// Digest and signature of the archive are compared.
    Verifying,
    /// The archive is unpacked.
    Unpacking,
    /// Programs can run in it.
    Ready(Ready),
    /// There is something, and it cannot be used.
    Broken {
        /// Why.
        reason: String,
    },
}

/// What is known of one that is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The release, such as `Alpine Linux`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the archive that it came in.
    pub sha256: String,
    /// Fingerprint of the key that signed the archive; `None` = none was asked for.
    pub signed_by: Option<String>,
    /// The folder of its branch on a mirror.
    pub branch: String,
    /// The mirror that the archive came from.
    pub mirror: String,
    /// Where packages may come from, in the order in which they are tried.
    pub mirrors: Vec<String>,
    /// The mirror that packages come from; `None` = none was reachable yet.
    pub repositories: Option<String>,
}

/// How a userland was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// How it is.
    #[serde(flatten)]
    pub state: State,
    /// Whether a process is changing it now.
    pub at_work: bool,
    /// Bytes of an archive that are there already, to be gone on with.
    pub downloaded: u64,
    /// Its root folder, seen from outside.
    pub root: PathBuf,
    /// Its home folder, seen from outside.
    pub home: PathBuf,
}

impl State {
    /// As the end of a sentence, with what is to be done.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Absent => "not installed; `toolcrib sandbox install` installs it".to_owned(),
            Self::Downloading { .. } | Self::Verifying | Self::Unpacking => {
                let step = self.word();
                format!("half installed ({step}); `toolcrib sandbox install` goes on with it")
            }
            Self::Ready(ready) => format!("ready ({} {})", ready.name, ready.version),
            Self::Broken { reason } => {
                format!("broken: {reason}; `toolcrib sandbox install` repairs it")
            }
        }
    }

    /// Its name.
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

/// The folder of a userland: what is where in it.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
}

/// The right to change it. Given back when dropped, or when the process ends however it ends.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held for its lock alone")] File);

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The system.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// What of an archive is there.
    pub(super) fn part(&self, archive: &str) -> PathBuf {
        self.folder.join(format!("{archive}.part"))
    }

    fn file(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    /// Takes the right to change it; the folder is made, for its owner alone: what programs leave in it is not for others.
    pub(super) fn lock(&self) -> Result<Lock, UserlandError> {
        place::private_folder(&self.folder).map_err(UserlandError::at(&self.folder))?;
        let path = self.folder.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(UserlandError::at(&path))?;
        for _ in 0..LOCK_TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock(file)),
                // It may be somebody who only looks.
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
                Err(error) => return Err(UserlandError::at(&path)(error.into())),
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

    /// Writes down how it is.
    pub(super) fn set(&self, state: &State) -> Result<(), UserlandError> {
        let write = || -> io::Result<()> {
            let fresh = self.folder.join("state.json.new");
            let mut file = File::create(&fresh)?;
            file.write_all(&serde_json::to_vec_pretty(state)?)?;
            file.sync_all()?;
            fs::rename(&fresh, self.file())?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(UserlandError::at(&self.file()))
    }

    /// What was written down, whether it is still so or not.
    pub(super) fn written(&self) -> State {
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

    /// How it is: what was written down, and whether what it speaks of is there.
    pub(super) fn state(&self) -> State {
        match self.written() {
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
