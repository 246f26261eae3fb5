//! Contents of small files before a program runs: a folder of blobs named by their SHA-256, and an
//! index with the mark that each file had. A file is read again only if its mark has changed.
//!
//! The index is a cache: if it is missing, every file is read once more. A missing blob makes only
//! one change impossible to undo.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::super::atomic_write::temp_name;
use super::super::bounded_read;
use super::super::roots::Roots;
use super::super::snapshot::{RootedPath, Snapshot};
use super::scan::{FileMark, Mark, Scan};

/// Largest file whose content is stored, in bytes. Source files are smaller, and reading larger
/// files would delay the program.
pub(super) const MAX_FILE: u64 = 256 * 1024;
/// Maximum bytes stored for one workspace. The first program waits about 0.1 s until they are read
/// and written.
pub(super) const MAX_TOTAL: u64 = 32 * 1024 * 1024;
/// How long a content stays after no file has it any more: a program of another process may still
/// run.
const UNUSED_TIME: Duration = Duration::from_secs(60 * 60);

/// The index in memory.
#[derive(Debug)]
pub(in super::super) struct FormerFiles {
    dir: PathBuf,
    known: Arc<Contents>,
}

/// The content of each file whose content is stored.
pub(super) type Contents = BTreeMap<RootedPath, Content>;

/// The content that a file had with this mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    mark: FileMark,
    pub(super) sha256: String,
}

impl FormerFiles {
    /// Reads the index in a folder of the journal.
    pub(in super::super) fn open(journal: &Path) -> Self {
        let dir = journal.join("former");
        let read = || {
            let text = fs::read(dir.join("index.json")).ok()?;
            serde_json::from_slice::<Vec<(RootedPath, Content)>>(&text).ok()
        };
        let known = read().unwrap_or_default().into_iter().collect();
        Self { dir, known: Arc::new(known) }
    }

    /// Stores the current contents of these files.
    ///
    /// # Errors
    /// Writing to the folder failed.
    pub(super) fn refresh(&mut self, roots: &Roots, scan: &Scan) -> io::Result<Arc<Contents>> {
        let files = scan.marks.iter().filter_map(|(place, mark)| match mark {
            Mark::File(mark) if mark.size <= MAX_FILE => Some((place, mark)),
            _ => None,
        });
        let mut total = 0;
        let mut now = Contents::new();
        for (place, mark) in files {
            total += mark.size;
            if total > MAX_TOTAL {
                break;
            }
            let content = match self.known.get(place) {
                Some(known) if known.mark == *mark && scan.is_sure(mark) => Some(known.clone()),
                _ => self.read(roots, place)?,
            };
            now.extend(content.map(|content| (place.clone(), content)));
        }
        if now != *self.known {
            self.known = Arc::new(now);
            self.save()?;
        }
        Ok(Arc::clone(&self.known))
    }

    /// Reads and stores one file; `None` if that is not possible or the file has grown meanwhile.
    fn read(&self, roots: &Roots, place: &RootedPath) -> io::Result<Option<Content>> {
        let spot = roots.resolve_in_root(&place.root, &place.path).ok();
        let Some((bytes, stat)) =
            spot.and_then(|spot| bounded_read::read_bounded(&spot, MAX_FILE).ok())
        else {
            return Ok(None);
        };
        let mark = FileMark::of(&stat);
        let Snapshot::File { sha256, .. } = Snapshot::file(&bytes, mark.mode) else {
            return Ok(None);
        };
        let path = self.dir.join(&sha256);
        if !path.exists() {
            self.write(&path, &bytes)?;
        }
        Ok(Some(Content { mark, sha256 }))
    }

    /// Loads a stored content; `None` if it is missing or damaged.
    pub(super) fn load(&self, sha256: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.dir.join(sha256)).ok()?;
        let found = Snapshot::file(&bytes, 0);
        matches!(found, Snapshot::File { sha256: found, .. } if found == sha256).then_some(bytes)
    }

    fn save(&self) -> io::Result<()> {
        let rows: Vec<_> = self.known.iter().collect();
        self.write(&self.dir.join("index.json"), &serde_json::to_vec(&rows)?)?;
        self.remove_unused();
        Ok(())
    }

    /// Writes a file atomically. It is not synced, because its content is needed only until the
    /// program has ended.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let temp = self.dir.join(temp_name());
        let mut options = fs::File::options();
        options.create_new(true).write(true).mode(0o600);
        let written = options.open(&temp).and_then(|mut file| file.write_all(bytes));
        written.and_then(|()| fs::rename(&temp, path)).inspect_err(|_| {
            let _ = fs::remove_file(&temp);
        })
    }

    fn remove_unused(&self) {
        let used: HashSet<&str> =
            self.known.values().map(|content| content.sha256.as_str()).collect();
        let long_ago = SystemTime::now() - UNUSED_TIME;
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_used = name == "index.json" || name.to_str().is_some_and(|n| used.contains(n));
            let is_old = entry.metadata().and_then(|meta| meta.modified());
            if !is_used && is_old.is_ok_and(|time| time < long_ago) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
