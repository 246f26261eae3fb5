//! Scripts that wait for a person, on the disk: what is needed to go on with one in another process. Without its file a script runs from its first
//! line again, and each call that it makes is answered with the outcome that it has.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use toolcrib_core::{CallId, Trust, canonical};

use super::book::Book;
use crate::protocol::{PROTOCOL, Wanted};
use crate::worker::ENGINE;

/// How long a script is kept that nobody goes on with.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// A script that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Suspended {
    /// The interpreter that wrote the snapshot; no other one reads it.
    pub(super) engine: String,
    pub(super) protocol: u32,
    /// SHA-256 of the code.
    pub(super) code: String,
    pub(super) snapshot: String,
    pub(super) book: Book,
    /// Calls that it waits for, with their places in the book.
    pub(super) open: Vec<(Wanted, usize)>,
    pub(super) printed: String,
    /// Time that it took so far, waiting for people excluded.
    pub(super) spent: Duration,
    pub(super) trust: Trust,
    /// Stored results that it was told of.
    pub(super) references: BTreeSet<String>,
}

/// The folder of those scripts.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    pub(super) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn file(&self, call: CallId) -> PathBuf {
        self.folder.join(format!("{call}.json"))
    }

    /// Keeps one. Its digest stands before it: a file that was damaged is not read.
    pub(super) fn keep(&self, call: CallId, suspended: &Suspended) -> io::Result<()> {
        use std::io::Write as _;
        std::fs::create_dir_all(&self.folder)?;
        self.sweep();
        let text = serde_json::to_string(suspended)?;
        // Readable by nobody else: it holds what the script has read.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        writeln!(file, "{}", canonical::sha256_text(&text))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(self.file(call)).map_err(|error| error.error)?;
        Ok(())
    }

    /// One that was kept for this code by this build; `None` = there is none that can be used.
    pub(super) fn take(&self, call: CallId, code: &str) -> Option<Suspended> {
        let text = std::fs::read_to_string(self.file(call)).ok()?;
        let (digest, text) = text.split_once('\n')?;
        if canonical::sha256_text(text) != digest {
            return None;
        }
        let suspended: Suspended = serde_json::from_str(text).ok()?;
        let fits = suspended.engine == ENGINE
            && suspended.protocol == PROTOCOL
            && suspended.code == canonical::sha256_text(code);
        fits.then_some(suspended)
    }

    /// Forgets one.
    pub(super) fn forget(&self, call: CallId) {
        // One that was never kept is forgotten already.
        let _ = std::fs::remove_file(self.file(call));
    }

    /// Forgets those that are too old. What cannot be removed now is tried again.
    fn sweep(&self) {
        let Ok(files) = std::fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        for file in files.flatten() {
            let changed = file.metadata().and_then(|meta| meta.modified());
            let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
            if age.is_some_and(|age| age > KEPT) {
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}
