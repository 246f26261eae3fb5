//! The disk that can fail: preloaded into workers, set up by variables (see `shim/disk.c`).

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::preload_library::PreloadLibrary;

const SOURCE: &str = include_str!("../shim/disk.c");

/// What goes wrong with the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskFault {
    /// Nothing, until the power is cut.
    None,
    /// The sync of this number fails.
    Sync(u32),
    /// The sync of this number fails, and all after it.
    SyncsFrom(u32),
    /// The write of this number fails.
    Write(u32),
    /// The write of this number fails, and all after it.
    WritesFrom(u32),
    /// The power is cut at the change of this number.
    Cut(u32),
    /// The disk is full after so many bytes, until the trial frees space.
    Full(u32),
}

/// The compiled library, gone when dropped.
pub(crate) struct Shim {
    library: PreloadLibrary,
}

impl Shim {
    /// Compiles it.
    pub(crate) fn build() -> Result<Self> {
        Ok(Self { library: PreloadLibrary::compile(SOURCE)? })
    }

    /// The variables of a worker whose files under `folder` are on this disk.
    pub(crate) fn variables(&self, folder: &Path, disk: &Disk) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut variables = vec![
            ("LD_PRELOAD", text(&self.library.path)),
            ("CRASH_DISK_FOLDER", text(folder)),
            ("CRASH_DISK_LOG", text(&disk.log)),
            ("CRASH_DISK_SYNC_US", disk.sync_us.to_string()),
        ];
        let mut set = |name, value| variables.push((name, value));
        match disk.fault {
            DiskFault::None => {}
            DiskFault::Sync(number) | DiskFault::SyncsFrom(number) => {
                set("CRASH_DISK_FAIL_SYNC", number.to_string());
            }
            DiskFault::Write(number) | DiskFault::WritesFrom(number) => {
                set("CRASH_DISK_FAIL_WRITE", number.to_string());
            }
            DiskFault::Cut(number) => set("CRASH_DISK_CUT", number.to_string()),
            DiskFault::Full(bytes) => {
                set("CRASH_DISK_FULL", bytes.to_string());
                set("CRASH_DISK_ROOM", text(&disk.room));
            }
        }
        if matches!(disk.fault, DiskFault::SyncsFrom(_) | DiskFault::WritesFrom(_)) {
            set("CRASH_DISK_FAIL_ON", "1".to_owned());
        }
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// How the disk of one worker behaves.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    /// Where it is noted what was written.
    pub(crate) log: PathBuf,
    /// What makes room on it, once it exists.
    pub(crate) room: PathBuf,
    /// Microseconds before each sync.
    pub(crate) sync_us: u32,
    pub(crate) fault: DiskFault,
}
