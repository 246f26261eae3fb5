//! Garbage collection of artifacts: expired artifacts, files without a row, rows without a file.

use std::collections::HashSet;
use std::fs::{self, DirEntry, File};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use toolcrib_core::artifact_builder;
use toolcrib_core::{ArtifactRef, StoreError};

use super::{Artifacts, PARTIAL};
use crate::tables::artifacts as rows;
use crate::writer::Durability;

/// Age from which a file without a row is an orphan: a live writer would have added the row long
/// before.
const ORPHANED: Duration = Duration::from_secs(60);
/// Rows or files that are checked under one write lock.
const AT_ONCE: usize = 200;

/// The collector thread. Dropping it stops the thread shortly afterwards.
pub(super) struct GarbageCollector {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for GarbageCollector {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Artifacts {
    /// Collects once, on a separate thread, so that the caller does not wait. Errors surface when
    /// an artifact is used.
    #[must_use]
    pub fn collect_garbage_in_background(self) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (this, stopped) = (Self { _sweeper: None, ..self.clone() }, Arc::clone(&stop));
        let sweep = move || {
            let _ = this.sweep_until(&stopped);
        };
        // If the thread cannot be started, the next start collects.
        let thread = std::thread::Builder::new().name("toolcrib-sweep".into()).spawn(sweep).ok();
        Self { _sweeper: Some(Arc::new(GarbageCollector { stop, thread })), ..self }
    }

    /// Removes expired artifacts, files without a row and rows without a file. Blocks.
    ///
    /// # Errors
    /// [`StoreError`] if the folder or the database cannot be read or written; removals made until
    /// then stay. If the folder is missing while there are rows, no row is removed: a disk may not
    /// be mounted yet, or a backup may be partially restored.
    pub fn collect_garbage(&self) -> Result<(), StoreError> {
        self.sweep_until(&AtomicBool::new(false))
    }

    fn sweep_until(&self, stop: &AtomicBool) -> Result<(), StoreError> {
        let goes_on = || !stop.load(Ordering::Relaxed);
        self.expire()?;
        // Rows first: a file that is created meanwhile has no row yet, and is too young to be an
        // orphan.
        let rows = self.store.read_now(rows::all)?;
        let mut files = HashSet::new();
        let mut orphans = Vec::new();
        let known: HashSet<&ArtifactRef> = rows.iter().collect();
        for entry in self.entries(!rows.is_empty())?.into_iter().take_while(|_| goes_on()) {
            let name = ArtifactRef(entry.file_name().to_string_lossy().into_owned());
            if name.0.starts_with(PARTIAL) {
                remove_if_abandoned(&entry);
            } else if name.0.starts_with("art_") {
                if !known.contains(&name) && is_old(&entry) {
                    orphans.push(name.clone());
                }
                files.insert(name);
            }
        }
        if !goes_on() {
            // Stopped before every file was listed.
            return Ok(());
        }
        let lost: Vec<ArtifactRef> =
            rows.iter().filter(|artifact| !files.contains(*artifact)).cloned().collect();
        for some in orphans.chunks(AT_ONCE).take_while(|_| goes_on()) {
            self.unlink(some.to_vec())?;
        }
        for some in lost.chunks(AT_ONCE).take_while(|_| goes_on()) {
            self.forget_lost(some.to_vec())?;
        }
        Ok(())
    }

    fn entries(&self, has_rows: bool) -> Result<Vec<DirEntry>, StoreError> {
        match fs::read_dir(&self.files.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && has_rows => {
                let folder = self.files.folder.display();
                Err(StoreError::Failed(format!(
                    "the folder of the artifacts, {folder}, is missing"
                )))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            found => found.and_then(Iterator::collect).map_err(artifact_builder::store_error),
        }
    }

    /// Removes rows that have no file.
    fn forget_lost(&self, lost: Vec<ArtifactRef>) -> Result<(), StoreError> {
        let files = self.files.clone();
        self.store.write_now(Durability::ProcessCrash, move |conn| {
            if !files.folder.is_dir() {
                return Ok(());
            }
            for artifact in lost {
                if let Ok(false) = files.path(&artifact).try_exists() {
                    rows::remove(conn, &artifact, None)?;
                }
            }
            Ok(())
        })
    }
}

fn is_old(entry: &DirEntry) -> bool {
    let changed = entry.metadata().and_then(|meta| meta.modified());
    changed.is_ok_and(|changed| {
        SystemTime::now().duration_since(changed).is_ok_and(|age| age >= ORPHANED)
    })
}

/// Removes a partial file, unless its writer is alive: a writer holds the file's lock for as long
/// as it writes.
fn remove_if_abandoned(entry: &DirEntry) {
    let path = entry.path();
    if is_old(entry) && File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
        let _ = fs::remove_file(path);
    }
}
