//! Who is alive: a lock file for each claim, held for the life of the process.
//!
//! The file is `<database>.workers/<epoch>`. Its holder has it locked alone; whoever asks whether the holder lives tries to lock it with
//! others, so that two that ask at once do not take each other for the holder.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolcrib_core::StoreError;

use crate::error::io_failed;
use crate::reserve::beside;

/// How often a lock file is tried again that somebody asks after, or removes, at the same moment: whoever holds it for that moment may stand
/// still for seconds on a machine that has other work.
const TRIES: usize = 5_000;
const PAUSE: Duration = Duration::from_millis(1);

/// The claims of this handle, and how to ask after those of others.
#[derive(Default)]
pub(crate) struct Workers {
    /// `None` = in memory: nobody else is there, and every claim is alive until it is given back.
    folder: Option<PathBuf>,
    held: Mutex<HashMap<u64, Option<File>>>,
}

impl Workers {
    pub(crate) fn of(database: &Path) -> Self {
        Self { folder: Some(beside(database, ".workers")), held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, Option<File>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock of a new claim, inside the transaction that gives it its number, so that nobody sees a claim without a lock.
    pub(crate) fn hold(&self, epoch: u64) -> Result<(), StoreError> {
        // There is one if the transaction of an earlier claim failed.
        drop(self.held().remove(&epoch));
        let file = match &self.folder {
            None => None,
            Some(folder) => Some(
                lock(folder, epoch)
                    .map_err(|e| io_failed("the lock file of this process cannot be made", &e))?,
            ),
        };
        self.held().insert(epoch, file);
        Ok(())
    }

    /// Whether this handle holds the claim.
    pub(crate) fn holds(&self, epoch: u64) -> bool {
        self.held().contains_key(&epoch)
    }

    /// Gives the lock of a claim back that has ended, or was never committed.
    pub(crate) fn let_go(&self, epoch: u64) {
        // Removed while it is locked: a number that was never committed is given out again.
        self.forget(epoch);
        drop(self.held().remove(&epoch));
    }

    /// Removes the lock file of a claim that has ended.
    pub(crate) fn forget(&self, epoch: u64) {
        if let Some(folder) = &self.folder {
            // One that stays is swept away by whoever recovers next.
            let _ = std::fs::remove_file(folder.join(epoch.to_string()));
        }
    }

    /// Whether the holder of a claim that has not ended by itself still works. A file that is not there has no holder.
    pub(crate) fn is_alive(&self, epoch: u64) -> bool {
        let Some(folder) = &self.folder else { return true };
        if self.holds(epoch) {
            return true;
        }
        match File::open(folder.join(epoch.to_string())) {
            Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            // Not to be opened, nobody knows; then nothing is taken from it.
            Err(_) => true,
        }
    }

    /// Numbers of the claims that have a lock file.
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
            // Nobody else can have this number, but somebody may ask for its holder, or remove it, at this moment.
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(PAUSE);
                continue;
            }
            // A file system without locks.
            Err(TryLockError::Error(e)) => return Err(e),
        }
        // A number that was never committed may just be swept away after whoever had it: then this is the file of nobody.
        if is_at(&file, &path)? {
            writeln!(file, "{}", std::process::id())?;
            return Ok(file);
        }
    }
    Err(io::Error::other("others lock or remove it again and again"))
}

/// Whether a path still leads to an open file.
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

/// Whether a path still leads to an open file: a file that is open keeps its name here.
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
        let (one, two) = (Workers::of(&database), Workers::of(&database));
        assert!(!two.is_alive(1) && two.files().is_empty());
        one.hold(1).unwrap();
        one.hold(2).unwrap();
        for _ in 0..2 {
            assert!(one.is_alive(1) && two.is_alive(1) && two.is_alive(2));
        }
        one.let_go(1);
        assert!(!one.is_alive(1) && !two.is_alive(1));
        assert_eq!(two.files(), [2]);
        // Its process dies: the file stays, without a holder.
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
        let (one, two) = (Workers::of(&database), Workers::of(&database));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let path = folder.path().join("store.db.workers/1");
        std::thread::scope(|scope| {
            // Removes the file under its lock, as whoever lets go of a number does.
            scope.spawn(|| {
                while !stop.load(relaxed) {
                    // Whoever wants the lock must get a turn, however busy the machine is.
                    std::thread::sleep(std::time::Duration::from_micros(50));
                    let Ok(file) = File::open(&path) else { continue };
                    if file.try_lock().is_ok() && is_at(&file, &path).unwrap_or(false) {
                        two.forget(1);
                    }
                }
            });
            let tried = (0..500).try_for_each(|_| {
                one.hold(1).map_err(|e| e.to_string())?;
                let held = one.held();
                let is_there = is_at(held[&1].as_ref().unwrap(), &path).unwrap_or(false);
                // Without removing it, as when the process dies.
                drop(held);
                drop(one.held().remove(&1));
                is_there
                    .then_some(())
                    .ok_or("the file that is locked is not the one that others ask".into())
            });
            // Before anything panics: the other thread would go on for ever.
            stop.store(true, relaxed);
            assert_eq!(tried, Ok::<(), String>(()));
        });
        // The same without luck: the file goes between its opening and its lock.
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
    fn whoever_asks_is_not_taken_for_the_holder() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("store.db");
        let one = Workers::of(&database);
        one.hold(1).unwrap();
        drop(one);
        let file = File::open(folder.path().join("store.db.workers/1")).unwrap();
        file.try_lock_shared().unwrap();
        assert!(!Workers::of(&database).is_alive(1));
    }
}
