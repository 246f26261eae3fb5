//! Which programs run in the background, on the disk: what is lost with a process of ours is seen by the next one. Each file is locked as long as
//! its program runs, so a file without a lock is one of a program that is lost.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What is written down of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) conversation: String,
    pub(crate) command: String,
    /// Milliseconds since 1970.
    pub(crate) started_at: i64,
}

/// A record that holds as long as this lives. Dropped, it is gone.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    _locked: File,
}

impl Drop for Held {
    fn drop(&mut self) {
        // One that stays is one too many in a list.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes a record down.
pub(super) fn hold(folder: &Path, record: &Record) -> io::Result<Held> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(format!("{}.json", record.id));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.lock()?;
    file.write_all(&serde_json::to_vec(record)?)?;
    Ok(Held { path, _locked: file })
}

/// The records of programs that are lost.
pub(super) fn lost(folder: &Path) -> Vec<(Record, PathBuf)> {
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
        let record = Record {
            id: "p1".to_owned(),
            owner: "ann".to_owned(),
            conversation: "c".to_owned(),
            command: "sleep 1".to_owned(),
            started_at: 7,
        };
        assert!(lost(&at).is_empty());
        let held = hold(&at, &record).unwrap();
        assert!(lost(&at).is_empty(), "it runs");
        let path = at.join("p1.json");
        let text = fs::read(&path).unwrap();
        drop(held);
        assert!(!path.exists());
        // What a process leaves behind that was killed: the file, and no lock.
        fs::write(&path, text).unwrap();
        fs::write(at.join("odd.json"), "{").unwrap();
        assert_eq!(lost(&at), [(record, path)]);
    }
}
