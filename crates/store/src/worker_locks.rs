//! Worker liveness: one lock file per claim, locked for the lifetime of the process.
//!
//! The file is `<database>.workers/<epoch>`. Its holder locks it exclusively. A liveness check
//! tries a shared lock, so that two concurrent checks do not mistake each other for the holder.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolcrib_core::StoreError;

use crate::disk_reserve::companion_path;
use crate::error::io_failed;

/// Retries for a lock file that another process is checking or removing: on a loaded machine that
/// process may not be scheduled for seconds.
const TRIES: usize = 5_000;
const PAUSE: Duration = Duration::from_millis(1);

/// The claims of this handle, and liveness checks for the claims of others.
#[derive(Default)]
pub(crate) struct WorkerLocks {
    /// `None` for an in-memory database: there are no other processes, and a claim is alive until
    /// it is released.
    folder: Option<PathBuf>,
    held: Mutex<HashMap<u64, Option<File>>>,
}

impl WorkerLocks {
    pub(crate) fn for_database(database: &Path) -> Self {
        Self { folder: Some(companion_path(database, ".workers")), held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, Option<File>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks a new claim, inside the transaction that assigns its number, so that a claim never
    /// becomes visible without its lock.
    pub(crate) fn acquire(&self, epoch: u64) -> Result<(), StoreError> {
        // Remains if the transaction of an earlier claim failed.
        drop(self.held().remove(&epoch));
        let file =
            match &self.folder {
                None => None,
                Some(folder) => Some(lock(folder, epoch).map_err(|e| {
                    io_failed("the lock file of this process cannot be created", &e)
                })?),
            };
        self.held().insert(epoch, file);
        Ok(())
    }

    /// Returns whether this handle holds the claim.
    pub(crate) fn is_held(&self, epoch: u64) -> bool {
        self.held().contains_key(&epoch)
    }

    /// Releases the lock of a claim that has ended or was never committed.
    pub(crate) fn release(&self, epoch: u64) {
        // Remove the file while it is locked: a number that was never committed is assigned again.
        self.forget(epoch);
        drop(self.held().remove(&epoch));
    }

    /// Removes the lock file of a claim that has ended.
    pub(crate) fn forget(&self, epoch: u64) {
        if let Some(folder) = &self.folder {
            // The next recovery removes a file that remains.
            let _ = std::fs::remove_file(folder.join(epoch.to_string()));
        }
    }

    /// Returns whether the holder of a claim without a recorded end is alive. A missing lock file
    /// has no holder.
    pub(crate) fn is_alive(&self, epoch: u64) -> bool {
        let Some(folder) = &self.folder else { return true };
        if self.is_held(epoch) {
            return true;
        }
        match File::open(folder.join(epoch.to_string())) {
            Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            // If the file cannot be opened, assume that the holder is alive: its work must not be
            // taken over.
            Err(_) => true,
        }
    }

    /// Returns the numbers of the claims that have a lock file.
    pub(crate) fn files(&self) -> Vec<u64> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
    }
}

fn lock(folder: &Path, epoch: u64) -> io::Result<File> {
    let mut folders = DirBuilder::new();
    folders.recursive(true);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folders.mode(0o700);
        options.mode(0o600);
    }
    folders.create(folder)?;
    let path = folder.join(epoch.to_string());
    for _ in 0..TRIES {
        let mut file = options.open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            // No other process can have this number, but one may be checking or removing the file.
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(PAUSE);
                continue;
            }
            // A file system without locks.
            Err(TryLockError::Error(e)) => return Err(e),
        }
        // A recovery may have just removed the file of an earlier claim that was never committed;
        // then the locked file is unlinked.
        if is_at(&file, &path)? {
            writeln!(file, "{}", std::process::id())?;
            return Ok(file);
        }
    }
    Err(io::Error::other("other processes keep locking or removing it"))
}

/// Returns whether a path still refers to an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let mine = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (mine.dev(), mine.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Returns whether a path still refers to an open file. An open file keeps its name on this system.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_alive_while_its_holder_is() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("store.db");
        let (one, two) =
            (WorkerLocks::for_database(&database), WorkerLocks::for_database(&database));
        assert!(!two.is_alive(1) && two.files().is_empty());
        one.acquire(1).unwrap();
        one.acquire(2).unwrap();
        for _ in 0..2 {
            assert!(one.is_alive(1) && two.is_alive(1) && two.is_alive(2));
        }
        one.release(1);
        assert!(!one.is_alive(1) && !two.is_alive(1));
        assert_eq!(two.files(), [2]);
        // Simulates the death of the process: the file remains without a holder.
        drop(one);
        assert!(!two.is_alive(2));
        assert_eq!(two.files(), [2]);
        two.forget(2);
        assert!(two.files().is_empty());
    }

    #[test]
    fn a_claim_locked_a_file_that_was_being_removed() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("store.db");
        let (one, two) =
            (WorkerLocks::for_database(&database), WorkerLocks::for_database(&database));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let path = folder.path().join("store.db.workers/1");
        std::thread::scope(|scope| {
            // Removes the file under its lock, as a release does.
            scope.spawn(|| {
                while !stop.load(relaxed) {
                    // The lock must be free now and then, however loaded the machine is.
                    std::thread::sleep(std::time::Duration::from_micros(50));
                    let Ok(file) = File::open(&path) else { continue };
                    if file.try_lock().is_ok() && is_at(&file, &path).unwrap_or(false) {
                        two.forget(1);
                    }
                }
            });
            let tried = (0..500).try_for_each(|_| {
                one.acquire(1).map_err(|e| e.to_string())?;
                let held = one.held();
                let is_there = is_at(held[&1].as_ref().unwrap(), &path).unwrap_or(false);
                // Without removing the file, as when the process dies.
                drop(held);
                drop(one.held().remove(&1));
                is_there
                    .then_some(())
                    .ok_or("the file that is locked is not the one that others ask".into())
            });
            // Stop before a panic, or the other thread would never end.
            stop.store(true, relaxed);
            assert_eq!(tried, Ok::<(), String>(()));
        });
        // The same, deterministic: the file is removed between opening and locking it.
        std::fs::create_dir_all(folder.path().join("store.db.workers")).unwrap();
        let path = folder.path().join("store.db.workers/2");
        let file = File::create(&path).unwrap();
        assert!(is_at(&file, &path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path).unwrap());
        let other = File::create(&path).unwrap();
        assert!(!is_at(&file, &path).unwrap() && is_at(&other, &path).unwrap());
    }

    #[test]
    fn a_client_that_asks_is_not_taken_for_the_holder() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("store.db");
        let one = WorkerLocks::for_database(&database);
        one.acquire(1).unwrap();
        drop(one);
        let file = File::open(folder.path().join("store.db.workers/1")).unwrap();
        file.try_lock_shared().unwrap();
        assert!(!WorkerLocks::for_database(&database).is_alive(1));
    }
}
