//! Kill switch as a file: `STOP` in the state folder. While it exists, no tool runs in any process
//! with this state folder, regardless of the contents of the store. Engaging it needs no store,
//! process or network: `touch` is sufficient.
//!
//! File tools cannot access the state folder, and no operation that a model can call releases the
//! switch.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_core::{CallId, Clock as _, KillSwitch, SystemClock, display_text};

/// File name in the state folder.
const FILE: &str = "STOP";

/// Maximum number of bytes to read from the file. Toolcrib never writes more; the text is for
/// people.
const READ_BYTES: u64 = 64 * 1024;

/// Content of the file: the person who stopped the tools, and the options.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KillSwitchState {
    /// Name of the person who engaged the switch; empty if unknown.
    pub by: String,
    /// Time in milliseconds since 1970.
    pub at: i64,
    /// Reason for people; empty if none was given.
    pub why: String,
    /// Whether running calls may finish; otherwise they are cancelled.
    pub finish_running: bool,
}

impl From<&str> for KillSwitchState {
    /// Creates the state of a switch that this person engages now; running calls are cancelled.
    fn from(by: &str) -> Self {
        Self { by: by.to_owned(), at: SystemClock.now_ms(), ..Self::default() }
    }
}

/// The file. All values with the same path are the same switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillSwitchFile {
    /// Path of the file.
    pub path: PathBuf,
}

impl KillSwitchFile {
    /// Returns the kill switch of a state folder.
    #[must_use]
    pub fn in_folder(state: &Path) -> Self {
        Self { path: state.join(FILE) }
    }

    /// Returns whether tools are stopped. Any existing file counts, and so does one whose state
    /// cannot be determined (fail closed).
    #[must_use]
    pub fn is_engaged(&self) -> bool {
        // `symlink_metadata` also detects a dangling link.
        !matches!(fs::symlink_metadata(&self.path), Err(error) if error.kind() == ErrorKind::NotFound)
    }

    /// Stops every tool from the next call on. The file is written atomically (mode 0600) and
    /// synced, so that it survives a power failure; an existing one is replaced. If the disk is
    /// full, an empty file remains, which has the same effect.
    ///
    /// # Errors
    /// The error of the file system if the file does not exist afterwards: tools then continue to
    /// run.
    pub fn engage(&self, stop: impl Into<KillSwitchState>) -> io::Result<()> {
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

    fn write(&self, staged: &Path, stop: &KillSwitchState) -> io::Result<()> {
        let mut file = new_file(staged)?;
        file.write_all(&serde_json::to_vec(stop)?)?;
        file.sync_all()?;
        fs::rename(staged, &self.path)?;
        sync_folder(&self.path);
        Ok(())
    }

    /// Releases the switch by removing this file; returns whether it existed. The removal is
    /// synced. Stored switches stay as they are.
    ///
    /// # Errors
    /// The error of the file system; tools then stay stopped.
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

    /// Reads the content; returns `None` if the switch is not engaged. A foreign or unreadable file
    /// yields empty fields.
    #[must_use]
    pub fn read(&self) -> Option<KillSwitchState> {
        use io::Read as _;
        if !self.is_engaged() {
            return None;
        }
        let mut text = Vec::new();
        // A FIFO of this name must not block.
        let is_file = fs::metadata(&self.path).is_ok_and(|meta| meta.is_file());
        if is_file && let Ok(file) = fs::File::open(&self.path) {
            let _ = file.take(READ_BYTES).read_to_end(&mut text);
        }
        Some(serde_json::from_slice(&text).unwrap_or_default())
    }
}

impl KillSwitch for KillSwitchFile {
    fn is_engaged(&self) -> bool {
        self.is_engaged()
    }

    fn reason(&self) -> Option<String> {
        self.read().map(|state| state.sentence())
    }
}

/// Maximum number of characters of the reason in the answer to a stopped call.
const REASON_CHARS: usize = 200;

impl KillSwitchState {
    /// Describes in one sentence who stopped the tools, why, and how they start again.
    #[must_use]
    pub fn sentence(&self) -> String {
        let line = |text: &str| -> String {
            display_text::escape_to_line(text).chars().take(REASON_CHARS).collect()
        };
        let by = if self.by.is_empty() { "a person".to_owned() } else { line(&self.by) };
        let why =
            if self.why.is_empty() { String::new() } else { format!(" ({})", line(&self.why)) };
        format!(
            "Every tool was stopped by {by}{why}; a person starts them again with `toolcrib start-tools`."
        )
    }
}

fn new_file(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Syncs the folder; otherwise, a power failure may undo a rename or removal. Errors are ignored:
/// the change is in effect until then.
fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| fs::File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn at(folder: &tempfile::TempDir) -> KillSwitchFile {
        KillSwitchFile::in_folder(&folder.path().join("state"))
    }

    #[test]
    fn it_is_pulled_and_released_and_says_who_did_it() {
        let folder = tempfile::tempdir().unwrap();
        let switch = at(&folder);
        assert!(!switch.is_engaged() && !switch.is_engaged());
        assert_eq!((switch.read(), switch.release().unwrap()), (None, false));
        switch.engage("ann").unwrap();
        assert!(switch.is_engaged());
        let by_ann = switch.read().unwrap();
        assert_eq!((by_ann.by.as_str(), by_ann.finish_running), ("ann", false));
        assert!(by_ann.at > 1_600_000_000_000);
        let stop = KillSwitchState {
            by: "ben".into(),
            at: 7,
            why: "too \"fast\"".into(),
            finish_running: true,
        };
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
            assert_eq!(switch.read(), Some(KillSwitchState::default()));
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
        // The parent is not a folder.
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
