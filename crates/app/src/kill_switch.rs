//! The kill switch as a file: `STOP` in the state folder. Where it is, no tool runs, in no process that has this state folder, whatever the
//! store says. It needs no store, no process and no network to be pulled: `touch` will do.
//!
//! The state folder is out of reach of every file tool, and nothing that a model can call leads here.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_core::{Brake, CallId, Clock as _, SystemClock};

/// Name of the file in the state folder.
const FILE: &str = "STOP";

/// Bytes of the file that are read: its words are for people, and what is longer was not written by us.
const READ_BYTES: u64 = 64 * 1024;

/// Who stopped the tools, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Stop {
    /// Who did it; empty = not said.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// Why, in words for people; empty = not said.
    pub why: String,
    /// Whether calls that are at work run to their end; otherwise they are stopped too.
    pub finish_running: bool,
}

impl From<&str> for Stop {
    /// Stopped by this person now, and what is at work with it.
    fn from(by: &str) -> Self {
        Self { by: by.to_owned(), at: SystemClock.now_ms(), ..Self::default() }
    }
}

/// The file. Clones and other values of the same path are the same switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillSwitch {
    /// Where it is.
    pub path: PathBuf,
}

impl KillSwitch {
    /// The kill switch of a state folder.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { path: state.join(FILE) }
    }

    /// Whether tools stand still. A file of any content means that they do, and so does one that cannot be looked at.
    #[must_use]
    pub fn is_engaged(&self) -> bool {
        // The file itself: a link to nowhere counts too.
        !matches!(fs::symlink_metadata(&self.path), Err(error) if error.kind() == ErrorKind::NotFound)
    }

    /// Stops every tool, from the next call on. The file is written whole (mode 0600) and stays through a power cut; one that is there
    /// already is replaced. Where there is no room for words, an empty file is left: that stops them as well.
    ///
    /// # Errors
    /// What the file system says, when there is no such file in the end: tools run on.
    pub fn engage(&self, stop: impl Into<Stop>) -> io::Result<()> {
        let stop = stop.into();
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let staged = self.path.with_file_name(format!(".{FILE}.{}.tmp", CallId::fresh()));
        let written = self.write(&staged, &stop);
        if written.is_err() {
            let _ = fs::remove_file(&staged);
        }
        match written.or_else(|_| new_file(&self.path).map(drop)) {
            Err(_) if self.is_engaged() => Ok(()),
            done => done,
        }
    }

    fn write(&self, staged: &Path, stop: &Stop) -> io::Result<()> {
        let mut file = new_file(staged)?;
        file.write_all(&serde_json::to_vec(stop)?)?;
        file.sync_all()?;
        fs::rename(staged, &self.path)?;
        sync_folder(&self.path);
        Ok(())
    }

    /// Lets tools run again, as far as this file goes; whether it was there. It stays gone through a power cut.
    ///
    /// # Errors
    /// What the file system says: then tools stand still.
    pub fn release(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => {
                sync_folder(&self.path);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Who stopped them; `None` = nobody has. Of a file that is not ours, or cannot be read, nothing is known.
    #[must_use]
    pub fn read(&self) -> Option<Stop> {
        use io::Read as _;
        if !self.is_engaged() {
            return None;
        }
        let mut text = Vec::new();
        // A pipe of this name must not hold anybody up.
        let is_file = fs::metadata(&self.path).is_ok_and(|meta| meta.is_file());
        if is_file && let Ok(file) = fs::File::open(&self.path) {
            let _ = file.take(READ_BYTES).read_to_end(&mut text);
        }
        Some(serde_json::from_slice(&text).unwrap_or_default())
    }
}

impl Brake for KillSwitch {
    fn is_on(&self) -> bool {
        self.is_engaged()
    }
}

fn new_file(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// What is renamed or removed is so for good only when its folder is written; where that fails, it is so until the power fails.
fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| fs::File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn at(folder: &tempfile::TempDir) -> KillSwitch {
        KillSwitch::of(&folder.path().join("state"))
    }

    #[test]
    fn it_is_pulled_and_released_and_says_who_did_it() {
        let folder = tempfile::tempdir().unwrap();
        let switch = at(&folder);
        assert!(!switch.is_engaged() && !switch.is_on());
        assert_eq!((switch.read(), switch.release().unwrap()), (None, false));
        switch.engage("ann").unwrap();
        assert!(switch.is_on());
        let by_ann = switch.read().unwrap();
        assert_eq!((by_ann.by.as_str(), by_ann.finish_running), ("ann", false));
        assert!(by_ann.at > 1_600_000_000_000);
        let stop =
            Stop { by: "ben".into(), at: 7, why: "too \"fast\"".into(), finish_running: true };
        switch.engage(stop.clone()).unwrap();
        assert_eq!(switch.read(), Some(stop));
        let mode = fs::metadata(&switch.path).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let left: Vec<_> = fs::read_dir(folder.path().join("state")).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing is left beside it: {left:?}");
        assert!(switch.release().unwrap());
        assert!(!switch.is_engaged());
    }

    #[test]
    fn whatever_is_there_stops_and_what_cannot_be_looked_at_too() {
        let check = |make: fn(&Path)| {
            let folder = tempfile::tempdir().unwrap();
            let switch = at(&folder);
            fs::create_dir(folder.path().join("state")).unwrap();
            make(&switch.path);
            assert!(switch.is_engaged());
            assert_eq!(switch.read(), Some(Stop::default()));
        };
        check(|path| fs::write(path, "").unwrap());
        check(|path| fs::write(path, "not json \u{0}").unwrap());
        check(|path| fs::write(path, "[1]").unwrap());
        check(|path| symlink("/nowhere/at/all", path).unwrap());
        check(|path| fs::create_dir(path).unwrap());
        check(|path| {
            fs::write(path, "{").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
        });
        // Its folder is no folder.
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("state"), "").unwrap();
        assert!(at(&folder).is_engaged());
        assert!(at(&folder).engage("ann").is_err());
    }

    #[test]
    fn a_folder_of_its_name_stops_and_is_not_taken_for_released() {
        let folder = tempfile::tempdir().unwrap();
        let switch = at(&folder);
        fs::create_dir_all(&switch.path).unwrap();
        switch.engage("ann").unwrap();
        assert!(switch.release().is_err() && switch.is_engaged());
    }
}
