//! Undo journal of a workspace: the former state of the files that the last changes modified.
//!
//! The journal is in a state folder outside the workspace: one file per entry, and former contents
//! as blobs named by their SHA-256. An entry is durable before its change is made, so a crash in
//! between leaves an entry whose undo has nothing to do. Entries and blobs are renamed into place,
//! so they are always complete. Every change, undo and redo holds the journal's lock (`flock`),
//! which also excludes other processes.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolcrib_core::{CallId, CancellationToken, Clock as _, RunId, SystemClock, defaults};

use super::atomic_write::temp_name;
use super::error::FsErrorKind;
use super::snapshot::{RootedPath, Snapshot};

/// Maximum bytes of former content per entry. A larger file can still be changed; the result then
/// says that the change cannot be undone. 50 entries use at most 3.2 GB, and so do 50 undone ones.
pub const ENTRY_BYTES: u64 = 64 * 1024 * 1024;
/// How long a change waits for another process that holds the lock.
const LOCK_TIME: Duration = Duration::from_secs(8);
/// Pause between two attempts to get the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Reading or writing its files failed.
    #[error("undo journal {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// An entry cannot be parsed.
    #[error("undo journal entry {path} is damaged: {reason}")]
    Damaged {
        /// The entry's file.
        path: PathBuf,
        /// The parser's message.
        reason: String,
    },
    /// Another process holds the workspace lock.
    #[error("another change holds the workspace")]
    Busy,
    /// A change was undone or dropped since it was listed.
    #[error("change {0} is not in the journal any more; list the changes again")]
    Gone(u64),
    /// The call was cancelled while it waited for the lock.
    #[error("cancelled")]
    Cancelled,
}

impl From<JournalError> for FsErrorKind {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Busy => Self::Busy,
            JournalError::Cancelled => Self::Cancelled,
            other => Self::Journal(other.to_string()),
        }
    }
}

/// One recorded change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Sequence number; later changes have larger ones.
    pub id: u64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The change in one line: `edit notes.md`.
    pub summary: String,
    /// Why it cannot be undone; `None` if it can.
    pub not_undoable: Option<String>,
    /// The call that made it; absent in entries of versions before 0.2 and for changes that no
    /// call made.
    #[serde(default)]
    pub made_by: Option<ChangeOrigin>,
    pub(super) steps: Vec<Step>,
}

/// The call that made a change, with its run, owner and conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeOrigin {
    /// The call.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// The owner of the call. Other owners see the change without its origin.
    pub owner: String,
    /// The conversation of the call; empty if none.
    pub conversation: String,
}

/// One step of a change, with the data that undo needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub(super) enum Step {
    /// The path did not exist before. `parent` marks a parent folder that was created too; undo
    /// keeps it if it contains other files.
    Created { place: RootedPath, after: Snapshot, parent: bool },
    /// The path had another content.
    Replaced { place: RootedPath, before: Snapshot, after: Snapshot },
    /// The path was removed.
    Removed { place: RootedPath, before: Snapshot },
    /// The path was moved, identified by its inode; `replaced` is the overwritten target.
    Moved {
        from: RootedPath,
        to: RootedPath,
        ino: u64,
        /// Identifies the file when an edit has given it another inode.
        #[serde(default)]
        moved: Option<Snapshot>,
        replaced: Option<Snapshot>,
    },
}

impl Step {
    /// Returns the paths that the step changed.
    pub(super) fn places(&self) -> Vec<&RootedPath> {
        match self {
            Self::Created { place, .. }
            | Self::Replaced { place, .. }
            | Self::Removed { place, .. } => vec![place],
            Self::Moved { from, to, .. } => vec![from, to],
        }
    }

    /// Returns the name of the blob with the content that the step replaced.
    pub(super) fn former_content(&self) -> Option<&str> {
        match self.before() {
            Some(Snapshot::File { sha256, .. }) => Some(sha256),
            _ => None,
        }
    }

    /// Returns the former state that the step replaced.
    fn before(&self) -> Option<&Snapshot> {
        match self {
            Self::Created { .. } => None,
            Self::Replaced { before, .. } | Self::Removed { before, .. } => Some(before),
            Self::Moved { replaced, .. } => replaced.as_ref(),
        }
    }
}

/// The undo journal in one folder; [`Journal::undo`] is in the module `undo`, [`Journal::redo`] in
/// the module `redo`.
#[derive(Debug, Clone)]
pub struct Journal {
    dir: PathBuf,
}

impl Journal {
    /// Opens the journal in a folder outside the workspace, creating it with mode 0700.
    ///
    /// # Errors
    /// [`JournalError::Io`] when the folder cannot be created.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let dir = dir.into();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        for part in [dir.clone(), dir.join("entries"), dir.join("undone"), dir.join("blobs")] {
            builder.create(&part).map_err(io_at(&part))?;
        }
        Ok(Self { dir })
    }

    /// Returns the journal's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Lists the recorded changes, newest first.
    ///
    /// # Errors
    /// [`JournalError`] when they cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, JournalError> {
        let mut entries =
            self.ids()?.into_iter().map(|id| self.read(id)).collect::<Result<Vec<_>, _>>()?;
        entries.reverse();
        Ok(entries)
    }

    /// Returns the sequence numbers of the entries, oldest first.
    fn ids(&self) -> Result<Vec<u64>, JournalError> {
        self.numbers("entries")
    }

    /// Returns the numbers of the records in a part of the journal, the lowest first.
    pub(super) fn numbers(&self, part: &str) -> Result<Vec<u64>, JournalError> {
        let dir = self.dir.join(part);
        let mut ids = Vec::new();
        for entry in fs::read_dir(&dir).map_err(io_at(&dir))? {
            let name = entry.map_err(io_at(&dir))?.file_name();
            ids.extend(name.to_str().and_then(|n| n.strip_suffix(".json")?.parse::<u64>().ok()));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    pub(super) fn record_path(&self, part: &str, number: u64) -> PathBuf {
        self.dir.join(part).join(format!("{number:016}.json"))
    }

    fn entry_path(&self, id: u64) -> PathBuf {
        self.record_path("entries", id)
    }

    fn read(&self, id: u64) -> Result<Entry, JournalError> {
        read_record(&self.entry_path(id))
    }

    /// Takes the lock, waiting up to 8 s for another process.
    pub(super) fn lock(&self, cancel: &CancellationToken) -> Result<JournalLock<'_>, JournalError> {
        let path = self.dir.join("lock");
        let mut options = File::options();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(io_at(&path))?;
        let until = Instant::now() + LOCK_TIME;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(JournalLock { journal: self, _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(io_at(&path)(errno.into())),
            }
            if cancel.is_cancelled() {
                return Err(JournalError::Cancelled);
            }
            if Instant::now() >= until {
                return Err(JournalError::Busy);
            }
            std::thread::sleep(LOCK_PAUSE);
        }
    }
}

/// The journal with its lock held.
#[derive(Debug)]
pub(super) struct JournalLock<'a> {
    pub(super) journal: &'a Journal,
    /// Closing the file releases the lock.
    _file: File,
}

impl JournalLock<'_> {
    pub(super) fn list(&self) -> Result<Vec<Entry>, JournalError> {
        self.journal.list()
    }

    /// Stores a former content.
    pub(super) fn store_blob(&self, sha256: &str, content: &[u8]) -> Result<(), JournalError> {
        let path = self.blob_path(sha256);
        // Blobs are renamed into place, so an existing one is complete.
        if path.exists() { Ok(()) } else { self.put(&path, content) }
    }

    /// Loads a former content and verifies its hash.
    pub(super) fn load_blob(&self, sha256: &str) -> Result<Vec<u8>, JournalError> {
        let path = self.blob_path(sha256);
        let content = fs::read(&path).map_err(io_at(&path))?;
        match Snapshot::file(&content, 0) {
            Snapshot::File { sha256: found, .. } if found == sha256 => Ok(content),
            _ => Err(JournalError::Damaged { path, reason: "its content changed".to_owned() }),
        }
    }

    /// Returns the highest number of an undone entry. A new change must not get the number, because
    /// a person who undoes it would undo a change that was not listed.
    fn last_undone(&self) -> u64 {
        let text = fs::read_to_string(self.journal.dir.join("last-undone")).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    /// Reserves the number of an undone entry, so that no other change gets it.
    pub(super) fn reserve_number(&self, id: u64) -> Result<(), JournalError> {
        let last = self.last_undone().max(id);
        self.put(&self.journal.dir.join("last-undone"), last.to_string().as_bytes())
    }

    /// Records a change before it is made; drops the oldest entries beyond 50.
    pub(super) fn record(
        &self,
        summary: String,
        made_by: Option<ChangeOrigin>,
        steps: Vec<Step>,
        not_undoable: Option<String>,
    ) -> Result<u64, JournalError> {
        let ids = self.journal.ids()?;
        let id = ids.last().copied().unwrap_or(0).max(self.last_undone()) + 1;
        let entry =
            Entry { id, at_ms: SystemClock.now_ms(), summary, not_undoable, made_by, steps };
        self.put_record(&self.journal.entry_path(id), &entry)?;
        let surplus = (ids.len() + 1).saturating_sub(defaults::UNDO_ENTRIES);
        for &old in ids.iter().take(surplus) {
            self.forget(old)?;
        }
        Ok(id)
    }

    /// Removes an entry, and the blobs that are no longer needed.
    pub(super) fn forget(&self, id: u64) -> Result<(), JournalError> {
        // The blobs of a damaged entry are unknown. They remain until an entry with the same
        // content is removed.
        let gone = self.journal.read(id).map(|entry| blobs_of(&entry.steps)).unwrap_or_default();
        self.remove_record(&self.journal.entry_path(id), &gone)
    }

    /// Removes a record, and those of its blobs that no other record needs.
    pub(super) fn remove_record(&self, path: &Path, blobs: &[String]) -> Result<(), JournalError> {
        fs::remove_file(path).map_err(io_at(path))?;
        if blobs.is_empty() {
            return Ok(());
        }
        let entries = self.journal.ids()?.into_iter().filter_map(|id| self.journal.read(id).ok());
        let mut needed: HashSet<String> =
            entries.flat_map(|entry| blobs_of(&entry.steps)).collect();
        needed.extend(self.blobs_of_undone()?);
        for sha256 in blobs.iter().filter(|sha256| !needed.contains(*sha256)) {
            let _ = fs::remove_file(self.blob_path(sha256));
        }
        Ok(())
    }

    fn blob_path(&self, sha256: &str) -> PathBuf {
        self.journal.dir.join("blobs").join(sha256)
    }

    /// Writes a record atomically, as JSON.
    pub(super) fn put_record(
        &self,
        path: &Path,
        record: &impl Serialize,
    ) -> Result<(), JournalError> {
        let text = serde_json::to_vec(record).map_err(|error| JournalError::Damaged {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        self.put(path, &text)
    }

    /// Writes a file atomically.
    fn put(&self, path: &Path, content: &[u8]) -> Result<(), JournalError> {
        let temp = self.journal.dir.join(temp_name());
        let mut options = File::options();
        options.create_new(true).write(true).mode(0o600);
        let written = options
            .open(&temp)
            .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_data()))
            .and_then(|()| fs::rename(&temp, path));
        written.map_err(|error| {
            let _ = fs::remove_file(&temp);
            io_at(path)(error)
        })
    }
}

/// Reads an entry, or the record of an undone one.
pub(super) fn read_record<T: DeserializeOwned>(path: &Path) -> Result<T, JournalError> {
    let text = fs::read(path).map_err(io_at(path))?;
    serde_json::from_slice(&text)
        .map_err(|error| JournalError::Damaged { path: path.to_owned(), reason: error.to_string() })
}

/// Returns the names of the blobs with the former contents of these steps.
pub(super) fn blobs_of(steps: &[Step]) -> Vec<String> {
    steps.iter().filter_map(|step| step.former_content().map(str::to_owned)).collect()
}

fn io_at(path: &Path) -> impl Fn(std::io::Error) -> JournalError + use<> {
    let path = path.to_owned();
    move |source| JournalError::Io { path: path.clone(), source }
}
