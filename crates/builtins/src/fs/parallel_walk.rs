//! Parallel walk over every regular file below a folder for content search, with git's ignore
//! files.
//!
//! As everywhere in `fs`, a name is opened once, in an open folder, and later steps use the
//! descriptor. Links are not followed. Protected files are recognized by device and inode after
//! opening, before anything is read.
#![deny(clippy::indexing_slicing)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use rustix::io::Errno;
use toolcrib_core::CancellationToken;

use super::atomic_write;
use super::error::FsErrorKind;
use super::gitignore::IgnoreRules;
use super::resolve::{Identity, NodeKind, ResolvedPath, open_confined_in};
use super::roots::Roots;
use super::walk::Limits;

/// Files of one folder that a thread takes at once.
const BATCH: usize = 64;

/// Visitor of the files of a walk.
pub trait FileVisitor: Send {
    /// Returns whether to open the file with this path below the start.
    fn wants(&self, path: &Path) -> bool;

    /// Visits an open regular file, given with its size in bytes.
    fn file(&mut self, path: &Path, file: File, size: u64);
}

/// Which folders and files to skip.
#[derive(Debug, Clone, Copy)]
pub struct SkipRules<'a> {
    /// Names of folders that are skipped.
    pub names: &'a [&'a str],
    /// Whether ignore files apply.
    pub ignored: bool,
}

/// The result of a walk: how it ended, and the skipped entries.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct WalkSummary {
    /// Why it ended early; `None` if it is complete.
    pub stopped: Option<&'static str>,
    /// Files and folders that could not be opened, lie beyond a mount point, or are too deep.
    pub unreadable: usize,
    /// Entries of Toolcrib's own state, which tools may not read.
    pub barred: usize,
    /// Entries that rules deny to the call.
    pub denied: usize,
    /// Folders skipped by name.
    pub skipped: usize,
    /// Files and folders skipped by ignore files.
    pub ignored: usize,
}

/// A unit of work for any free thread.
enum WorkItem {
    Folder {
        parent: Arc<OwnedFd>,
        name: OsString,
        path: PathBuf,
        depth: usize,
        ignored: IgnoreRules,
    },
    Files {
        folder: Arc<OwnedFd>,
        path: Arc<Path>,
        names: Vec<OsString>,
    },
}

#[derive(Default)]
struct Queue {
    work: Vec<WorkItem>,
    /// Running threads, each of which may add more work.
    busy: usize,
    over: bool,
}

#[derive(Default)]
struct Counts {
    unreadable: AtomicUsize,
    barred: AtomicUsize,
    denied: AtomicUsize,
    skipped: AtomicUsize,
    ignored: AtomicUsize,
    entries: AtomicUsize,
}

struct ParallelWalker<'a> {
    roots: &'a Roots,
    spot: &'a ResolvedPath,
    protected: Vec<Identity>,
    limits: Limits,
    until: Instant,
    skip: SkipRules<'a>,
    cancel: &'a CancellationToken,
    queue: Mutex<Queue>,
    wake: Condvar,
    counts: Counts,
    stopped: Mutex<Option<&'static str>>,
}

/// Visits every regular file below a folder once, in no particular order, on several threads with
/// one visitor each; returns the visitors. `threads` is at least one.
///
/// # Errors
/// [`FsErrorKind`] when the folder itself cannot be read, or the call was cancelled.
pub fn walk_parallel<V: FileVisitor>(
    roots: &Roots,
    spot: &ResolvedPath,
    limits: Limits,
    skip: SkipRules<'_>,
    cancel: &CancellationToken,
    visitors: Vec<V>,
) -> Result<(WalkSummary, Vec<V>), FsErrorKind> {
    let start = Arc::new(spot.open_dir()?);
    let ignored =
        if skip.ignored { IgnoreRules::for_ancestors(roots, spot) } else { IgnoreRules::default() };
    let sweeper = ParallelWalker {
        roots,
        spot,
        protected: roots.protected_paths().identities(),
        limits,
        until: Instant::now() + limits.time,
        skip,
        cancel,
        queue: Mutex::default(),
        wake: Condvar::new(),
        counts: Counts::default(),
        stopped: Mutex::default(),
    };
    sweeper.list(&start, PathBuf::new(), 0, &ignored);
    let visitors = std::thread::scope(|scope| {
        let threads: Vec<_> = visitors
            .into_iter()
            .map(|mut visitor| {
                let sweeper = &sweeper;
                scope.spawn(move || {
                    sweeper.run(&mut visitor);
                    visitor
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, V>| match thread.join() {
            Ok(visitor) => visitor,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    });
    if cancel.is_cancelled() {
        return Err(FsErrorKind::Cancelled);
    }
    Ok((sweeper.report(), visitors))
}

impl ParallelWalker<'_> {
    /// Works until the queue is empty and no other thread can add to it.
    fn run<V: FileVisitor>(&self, visitor: &mut V) {
        // If a visitor panics, the other threads must not wait forever.
        let _ends = StopOnDrop(self);
        while let Some(work) = self.take() {
            match work {
                WorkItem::Folder { parent, name, path, depth, ignored } => {
                    match self.open(&parent, &name, OFlags::RDONLY | OFlags::DIRECTORY) {
                        Ok(Some(folder)) => self.list(&Arc::new(folder), path, depth, &ignored),
                        Ok(None) => {}
                        Err(_) => count(&self.counts.unreadable),
                    }
                }
                WorkItem::Files { folder, path, names } => {
                    for name in names {
                        if self.is_over() {
                            break;
                        }
                        self.file(&folder, &path, &name, visitor);
                    }
                }
            }
            self.done();
        }
    }

    fn take(&self) -> Option<WorkItem> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if queue.over {
                return None;
            }
            if let Some(work) = queue.work.pop() {
                queue.busy += 1;
                return Some(work);
            }
            if queue.busy == 0 {
                queue.over = true;
                self.wake.notify_all();
                return None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let is_over = self.is_over();
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.busy -= 1;
        queue.over |= is_over;
        if queue.over || (queue.busy == 0 && queue.work.is_empty()) {
            self.wake.notify_all();
        }
    }

    fn add(&self, work: Vec<WorkItem>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.work.extend(work);
        self.wake.notify_all();
    }

    fn is_over(&self) -> bool {
        let why = if self.cancel.is_cancelled() {
            "it was stopped"
        } else if self.counts.entries.load(Ordering::Relaxed) >= self.limits.entries {
            "there are too many files"
        } else if Instant::now() >= self.until {
            "the time is over"
        } else {
            return false;
        };
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        true
    }

    /// Opens a name in a folder; `None` if it is protected.
    fn open(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        flags: OFlags,
    ) -> Result<Option<OwnedFd>, Errno> {
        let (via, cross_mounts) = self.spot.open_method();
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = open_confined_in(folder.as_fd(), name, flags, via, cross_mounts)?;
        let identity = Identity::from(rustix::fs::fstat(&fd)?);
        if self.protected.contains(&identity) {
            count(&self.counts.barred);
            return Ok(None);
        }
        if !cross_mounts && identity.dev != self.spot.root.identity.dev {
            return Err(Errno::XDEV);
        }
        Ok(Some(fd))
    }

    /// Lists a folder and queues the work for its entries.
    fn list(&self, folder: &Arc<OwnedFd>, path: PathBuf, depth: usize, above: &IgnoreRules) {
        let ignored = if self.skip.ignored {
            above.with_folder(folder, self.spot.real.join(&path))
        } else {
            above.clone()
        };
        let Ok(entries) = Dir::read_from(folder) else { return count(&self.counts.unreadable) };
        let real = self.spot.real.join(&path);
        let folder_path = self.spot.real_path().join(&path);
        let mut work = Vec::new();
        let mut names = Vec::new();
        let path: Arc<Path> = path.into();
        for entry in entries {
            let Ok(entry) = entry else {
                count(&self.counts.unreadable);
                break;
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || atomic_write::is_temp_name(name.as_bytes()) {
                continue;
            }
            if self.counts.entries.fetch_add(1, Ordering::Relaxed) >= self.limits.entries {
                break;
            }
            let node = match entry.file_type() {
                FileType::RegularFile => NodeKind::File,
                FileType::Directory => NodeKind::Dir,
                // Some file systems do not report the type in the listing.
                FileType::Unknown => {
                    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => NodeKind::from_stat(&stat),
                        Err(_) => continue,
                    }
                }
                _ => continue,
            };
            if self.roots.protected_paths().protects_name(name) {
                count(&self.counts.barred);
                continue;
            }
            if self.roots.denials().hides(&folder_path.join(name)) {
                count(&self.counts.denied);
                continue;
            }
            if node == NodeKind::Dir && self.skip.names.iter().any(|skipped| name == *skipped) {
                count(&self.counts.skipped);
                continue;
            }
            if ignored.is_ignored(&real.join(name), node == NodeKind::Dir) {
                count(&self.counts.ignored);
                continue;
            }
            match node {
                NodeKind::File => names.push(name.to_owned()),
                NodeKind::Dir if depth >= self.limits.depth => count(&self.counts.unreadable),
                NodeKind::Dir => work.push(WorkItem::Folder {
                    parent: Arc::clone(folder),
                    name: name.to_owned(),
                    path: path.join(name),
                    depth: depth + 1,
                    ignored: ignored.clone(),
                }),
                _ => {}
            }
        }
        let mut names = names.into_iter().peekable();
        while names.peek().is_some() {
            let names = names.by_ref().take(BATCH).collect();
            work.push(WorkItem::Files {
                folder: Arc::clone(folder),
                path: Arc::clone(&path),
                names,
            });
        }
        self.add(work);
    }

    fn file<V: FileVisitor>(&self, folder: &OwnedFd, path: &Path, name: &OsStr, visitor: &mut V) {
        let path = path.join(name);
        if !visitor.wants(&path) {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        match self.open(folder, name, flags) {
            Ok(Some(fd)) => {
                let Ok(stat) = rustix::fs::fstat(&fd) else { return };
                if NodeKind::from_stat(&stat) == NodeKind::File {
                    visitor.file(&path, fd.into(), super::bounded_read::size(&stat));
                }
            }
            Ok(None) | Err(Errno::NOENT) => {}
            Err(_) => count(&self.counts.unreadable),
        }
    }

    fn report(&self) -> WalkSummary {
        let get = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        WalkSummary {
            stopped: *self.stopped.lock().unwrap_or_else(PoisonError::into_inner),
            unreadable: get(&self.counts.unreadable),
            barred: get(&self.counts.barred),
            denied: get(&self.counts.denied),
            skipped: get(&self.counts.skipped),
            ignored: get(&self.counts.ignored),
        }
    }
}

/// Ends all threads when one of them leaves early.
struct StopOnDrop<'a, 'b>(&'a ParallelWalker<'b>);

impl Drop for StopOnDrop<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.over = true;
            self.0.wake.notify_all();
        }
    }
}

fn count(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::Relaxed);
}
