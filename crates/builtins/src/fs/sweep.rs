//! Every plain file below a folder, by several threads, with the ignore files that people keep for git: for searching contents.
//!
//! As everywhere, a name is opened once, in a folder that is open, and what follows uses the descriptor. No link is followed; what is out
//! of reach is told by its identity once it is open, before anything of it is read.
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

use super::beneath::{Identity, Node, Spot, open_in};
use super::error::Fault;
use super::ignored::Ignored;
use super::roots::Roots;
use super::walk::Limits;
use super::write;

/// Files of one folder that one thread takes at once.
const BATCH: usize = 64;

/// What a sweep looks at.
pub trait Visit: Send {
    /// Whether a file of this path below the start is opened.
    fn wants(&self, path: &Path) -> bool;

    /// An open plain file, and its size in bytes.
    fn file(&mut self, path: &Path, file: File, size: u64);
}

/// Which folders are entered.
#[derive(Debug, Clone, Copy)]
pub struct Skip<'a> {
    /// Names of folders that are passed.
    pub names: &'a [&'a str],
    /// Whether ignore files count.
    pub ignored: bool,
}

/// How a sweep ended, and what it did not look at.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Swept {
    /// Why it ended early; `None` = everything was seen.
    pub stopped: Option<&'static str>,
    /// Files and folders that could not be opened, lie beyond a mount point, or too deep.
    pub unreadable: usize,
    /// Entries of Toolcrib's own state, which are out of reach.
    pub barred: usize,
    /// Folders passed because of their names.
    pub skipped: usize,
    /// Files and folders passed because of ignore files.
    pub ignored: usize,
}

/// Something to be done by whoever is free.
enum Work {
    Folder { parent: Arc<OwnedFd>, name: OsString, path: PathBuf, depth: usize, ignored: Ignored },
    Files { folder: Arc<OwnedFd>, path: Arc<Path>, names: Vec<OsString> },
}

#[derive(Default)]
struct Queue {
    work: Vec<Work>,
    /// Threads that are at work, and so may add more.
    busy: usize,
    over: bool,
}

#[derive(Default)]
struct Counts {
    unreadable: AtomicUsize,
    barred: AtomicUsize,
    skipped: AtomicUsize,
    ignored: AtomicUsize,
    entries: AtomicUsize,
}

struct Sweeper<'a> {
    roots: &'a Roots,
    spot: &'a Spot,
    protected: Vec<Identity>,
    limits: Limits,
    until: Instant,
    skip: Skip<'a>,
    cancel: &'a CancellationToken,
    queue: Mutex<Queue>,
    wake: Condvar,
    counts: Counts,
    stopped: Mutex<Option<&'static str>>,
}

/// Visits every plain file below the folder at `spot`, each once, in no order, by several threads with a visitor each; gives the visitors
/// back. `threads`: at least one.
///
/// # Errors
/// [`Fault`] when the folder itself cannot be read, or the call was stopped.
pub fn sweep<V: Visit>(
    roots: &Roots,
    spot: &Spot,
    limits: Limits,
    skip: Skip<'_>,
    cancel: &CancellationToken,
    visitors: Vec<V>,
) -> Result<(Swept, Vec<V>), Fault> {
    let start = Arc::new(spot.open_dir()?);
    let ignored = if skip.ignored { Ignored::above(roots, spot) } else { Ignored::default() };
    let sweeper = Sweeper {
        roots,
        spot,
        protected: roots.guard().identities(),
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
        return Err(Fault::Cancelled);
    }
    Ok((sweeper.report(), visitors))
}

impl Sweeper<'_> {
    /// Works until nothing is left and nobody can add more.
    fn run<V: Visit>(&self, visitor: &mut V) {
        // Whoever panics must not leave the others waiting.
        let _ends = EndsAll(self);
        while let Some(work) = self.take() {
            match work {
                Work::Folder { parent, name, path, depth, ignored } => {
                    match self.open(&parent, &name, OFlags::RDONLY | OFlags::DIRECTORY) {
                        Ok(Some(folder)) => self.list(&Arc::new(folder), path, depth, &ignored),
                        Ok(None) => {}
                        Err(_) => count(&self.counts.unreadable),
                    }
                }
                Work::Files { folder, path, names } => {
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

    fn take(&self) -> Option<Work> {
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

    fn add(&self, work: Vec<Work>) {
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

    /// Opens a name in a folder; `None` = it is out of reach.
    fn open(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        flags: OFlags,
    ) -> Result<Option<OwnedFd>, Errno> {
        let (via, cross_mounts) = self.spot.way();
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = open_in(folder.as_fd(), name, flags, via, cross_mounts)?;
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

    /// Reads the names in a folder and adds what is to be done there.
    fn list(&self, folder: &Arc<OwnedFd>, path: PathBuf, depth: usize, above: &Ignored) {
        let ignored = if self.skip.ignored {
            above.with(folder, self.spot.real.join(&path))
        } else {
            above.clone()
        };
        let Ok(entries) = Dir::read_from(folder) else { return count(&self.counts.unreadable) };
        let real = self.spot.real.join(&path);
        let mut work = Vec::new();
        let mut names = Vec::new();
        let path: Arc<Path> = path.into();
        for entry in entries {
            let Ok(entry) = entry else {
                count(&self.counts.unreadable);
                break;
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || write::is_temp_name(name.as_bytes()) {
                continue;
            }
            if self.counts.entries.fetch_add(1, Ordering::Relaxed) >= self.limits.entries {
                break;
            }
            let node = match entry.file_type() {
                FileType::RegularFile => Node::File,
                FileType::Directory => Node::Dir,
                // The file system does not say in the listing.
                FileType::Unknown => {
                    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => Node::of(&stat),
                        Err(_) => continue,
                    }
                }
                _ => continue,
            };
            if self.roots.guard().bars_name(name) {
                count(&self.counts.barred);
                continue;
            }
            if node == Node::Dir && self.skip.names.iter().any(|skipped| name == *skipped) {
                count(&self.counts.skipped);
                continue;
            }
            if ignored.is_ignored(&real.join(name), node == Node::Dir) {
                count(&self.counts.ignored);
                continue;
            }
            match node {
                Node::File => names.push(name.to_owned()),
                Node::Dir if depth >= self.limits.depth => count(&self.counts.unreadable),
                Node::Dir => work.push(Work::Folder {
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
            work.push(Work::Files { folder: Arc::clone(folder), path: Arc::clone(&path), names });
        }
        self.add(work);
    }

    fn file<V: Visit>(&self, folder: &OwnedFd, path: &Path, name: &OsStr, visitor: &mut V) {
        let path = path.join(name);
        if !visitor.wants(&path) {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        match self.open(folder, name, flags) {
            Ok(Some(fd)) => {
                let Ok(stat) = rustix::fs::fstat(&fd) else { return };
                if Node::of(&stat) == Node::File {
                    visitor.file(&path, fd.into(), super::read::size(&stat));
                }
            }
            Ok(None) | Err(Errno::NOENT) => {}
            Err(_) => count(&self.counts.unreadable),
        }
    }

    fn report(&self) -> Swept {
        let get = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        Swept {
            stopped: *self.stopped.lock().unwrap_or_else(PoisonError::into_inner),
            unreadable: get(&self.counts.unreadable),
            barred: get(&self.counts.barred),
            skipped: get(&self.counts.skipped),
            ignored: get(&self.counts.ignored),
        }
    }
}

/// Ends the work of all threads when one of them leaves it early.
struct EndsAll<'a, 'b>(&'a Sweeper<'b>);

impl Drop for EndsAll<'_, '_> {
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
