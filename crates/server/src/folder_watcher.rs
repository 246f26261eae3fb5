//! Watches folders for changes of files, with the notifications of the operating system.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::watch;
use toolcrib_app::StateChanges;

/// Pause after a notification: a busy database wakes its watcher at most 40 times a second. The
/// system merges equal notifications in between.
const PAUSE: Duration = Duration::from_millis(25);

/// Watches folders until it is dropped.
pub struct FolderWatcher {
    watcher: RecommendedWatcher,
    notified: watch::Receiver<()>,
    folders: BTreeSet<PathBuf>,
}

impl FolderWatcher {
    /// Creates a watcher without folders. Only files with these names count; all, if there are
    /// none.
    ///
    /// # Errors
    /// The system grants no watcher: its limits are reached (`fs.inotify.max_user_instances`), or
    /// the sandbox of the service forbids it.
    pub fn new(names: Vec<OsString>) -> io::Result<Self> {
        let (notifier, notified) = watch::channel(());
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.as_ref().is_ok_and(|event| !is_meant(event, &names)) {
                return;
            }
            // An error, such as an overflow of the queue, may hide a change.
            notifier.send_replace(());
            thread::sleep(PAUSE);
        });
        let watcher = watcher.map_err(io::Error::other)?;
        Ok(Self { watcher, notified, folders: BTreeSet::new() })
    }

    /// Returns the notifications of this watcher.
    #[must_use]
    pub fn changes(&self) -> StateChanges {
        StateChanges::from_notifications(self.notified.clone())
    }

    /// Watches exactly these folders from here on, without the folders in them.
    ///
    /// # Errors
    /// A folder cannot be watched; the others are.
    pub fn watch(&mut self, folders: BTreeSet<PathBuf>) -> io::Result<()> {
        let mut failed = None;
        for gone in self.folders.difference(&folders) {
            // The watch of a removed folder has ended by itself.
            let _ = self.watcher.unwatch(gone);
        }
        let mut watched = BTreeSet::new();
        for folder in folders {
            // Added again even if it is known: a folder of this path may have replaced it.
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(watched.insert(folder)),
                Err(error) => failed = Some(error),
            }
        }
        self.folders = watched;
        failed.map_or(Ok(()), |error| Err(io::Error::other(error)))
    }
}

fn is_meant(event: &Event, names: &[OsString]) -> bool {
    let is_named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| names.iter().any(|meant| meant == name))
    };
    !matches!(event.kind, EventKind::Access(_))
        && (names.is_empty() || event.need_rescan() || event.paths.iter().any(is_named))
}

/// Watches the files that every change of the state touches, whichever process makes it: those of
/// the database, and others such as the one of the kill switch. Folders that do not exist are left
/// out. `None` if the system grants no watcher.
pub(crate) fn watch_state(database: &Path, others: &[PathBuf]) -> Option<FolderWatcher> {
    let mut wal = database.as_os_str().to_owned();
    wal.push("-wal");
    let files = [database, Path::new(&wal)].into_iter().chain(others.iter().map(PathBuf::as_path));
    let (mut names, mut folders) = (Vec::new(), BTreeSet::new());
    for file in files {
        let (Some(name), Some(folder)) = (file.file_name(), file.parent()) else { continue };
        names.push(name.to_owned());
        if folder.is_dir() {
            folders.insert(folder.to_owned());
        }
    }
    let started = FolderWatcher::new(names).and_then(|mut watcher| {
        watcher.watch(folders)?;
        Ok(watcher)
    });
    started
        .inspect_err(|error| {
            tracing::warn!(%error, "the state folder cannot be watched; it is polled instead");
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn changes_of_the_named_files_are_noticed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("db"), "").unwrap();
        let watcher = watch_state(&path("db"), &[path("STOP")]).unwrap();
        let mut changes = watcher.changes();
        let mut notices =
            async |limit: Duration| tokio::time::timeout(limit, changes.changed()).await.is_ok();
        fs::write(path("other"), "x").unwrap();
        assert!(fs::read(path("db")).is_ok());
        assert!(!notices(Duration::from_millis(300)).await, "another file, and a read");
        for change in ["db", "db-wal", "STOP"] {
            fs::write(path(change), "x").unwrap();
            assert!(notices(Duration::from_secs(10)).await, "{change}");
            // The writing of a file is several notifications.
            while notices(Duration::from_millis(300)).await {}
        }
    }
}
