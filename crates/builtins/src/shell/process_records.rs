//! Records of background processes on disk, so that the next Toolcrib process can list those that
//! were lost. Each file is locked while its process runs; an unlocked file belongs to a lost one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Record of a background process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessRecord {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) conversation: String,
    pub(crate) command: String,
    /// Milliseconds since 1970.
    pub(crate) started_at: i64,
}

/// A locked record, deleted on drop.
#[derive(Debug)]
pub(super) struct RecordLock {
    path: PathBuf,
    _locked: File,
}

impl Drop for RecordLock {
    fn drop(&mut self) {
        // Best effort: a remaining record only adds an entry to a list.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes and locks a record.
pub(super) fn write_locked(folder: &Path, record: &ProcessRecord) -> io::Result<RecordLock> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(format!("{}.json", record.id));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.lock()?;
    file.write_all(&serde_json::to_vec(record)?)?;
    Ok(RecordLock { path, _locked: file })
}

/// Lists the records of lost processes.
pub(super) fn list_orphaned(folder: &Path) -> Vec<(ProcessRecord, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let lost = entries.filter_map(|entry| {
        let path = entry.path();
        let file = File::open(&path).ok()?;
        file.try_lock().ok()?;
        let record = serde_json::from_reader(io::BufReader::new(file)).ok()?;
        Some((record, path))
    });
    lost.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_its_process_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("processes");
        let record = ProcessRecord {
            id: "p1".to_owned(),
            owner: "ann".to_owned(),
            conversation: "c".to_owned(),
            command: "sleep 1".to_owned(),
            started_at: 7,
        };
        assert!(list_orphaned(&at).is_empty());
        let held = write_locked(&at, &record).unwrap();
        assert!(list_orphaned(&at).is_empty(), "it runs");
        let path = at.join("p1.json");
        let text = fs::read(&path).unwrap();
        drop(held);
        assert!(!path.exists());
        // The state after a process was killed: the file without a lock.
        fs::write(&path, text).unwrap();
        fs::write(at.join("odd.json"), "{").unwrap();
        assert_eq!(list_orphaned(&at), [(record, path)]);
    }
}
