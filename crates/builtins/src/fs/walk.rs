//! Bounded walk over a folder and everything below it, without following links. The report says
//! whether and why it stopped early.
#![deny(clippy::indexing_slicing)]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, OFlags, Stat};
use rustix::io::Errno;
use toolcrib_core::CancellationToken;

use super::atomic_write;
use super::call_denials::hidden_note;
use super::error::FsErrorKind;
use super::resolve::{Identity, NodeKind, ResolvedPath, open_confined_in};
use super::roots::Roots;

/// Limits of a walk.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of entries to visit.
    pub entries: usize,
    /// Maximum number of levels below the start; 0 visits only the start's own entries.
    pub depth: usize,
    /// Time limit.
    pub time: Duration,
}

/// One entry of the walk.
#[derive(Debug)]
pub struct WalkEntry<'a> {
    /// Path below the start.
    pub path: &'a Path,
    /// Status; of a link itself, not of its target.
    pub stat: &'a Stat,
    /// Kind of the entry.
    pub node: NodeKind,
    dir: BorrowedFd<'a>,
}

impl WalkEntry<'_> {
    /// Returns the file name.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Returns the target text of a link.
    #[must_use]
    pub fn target(&self) -> Option<String> {
        let text = rustix::fs::readlinkat(self.dir, self.name(), Vec::new()).ok()?;
        Some(String::from_utf8_lossy(text.as_bytes()).into_owned())
    }

    /// Returns the target of a link, as it is stored.
    pub(super) fn link_target(&self) -> Option<PathBuf> {
        let text = rustix::fs::readlinkat(self.dir, self.name(), Vec::new()).ok()?;
        Some(OsStr::from_bytes(text.as_bytes()).into())
    }

    /// Returns the open folder that contains the entry.
    pub(super) fn folder(&self) -> BorrowedFd<'_> {
        self.dir
    }
}

/// What the walk does after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkAction {
    /// Continue, and enter the entry if it is a folder.
    Enter,
    /// Continue without entering it.
    Pass,
    /// End the walk.
    Stop,
}

/// The result of a walk: how it ended, and the skipped entries.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct WalkReport {
    /// Entries visited.
    pub seen: usize,
    /// Why it ended early; `None` if it is complete.
    pub stopped: Option<&'static str>,
    /// Folders that were not entered because of the depth limit.
    pub too_deep: usize,
    /// Folders that could not be read, or lie beyond a mount point.
    pub unreadable: usize,
    /// Entries of Toolcrib's own state, which tools may not read.
    pub barred: usize,
    /// Entries that rules deny to the call.
    pub denied: usize,
}

impl WalkReport {
    /// Returns whether everything was visited.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let left_out = self.too_deep + self.unreadable + self.barred + self.denied;
        self.stopped.is_none() && left_out == 0
    }

    /// Returns sentences for the model on omitted entries; `None` if there are none.
    #[must_use]
    pub fn notes(&self) -> Option<String> {
        let mut notes = Vec::new();
        if let Some(why) = self.stopped {
            notes.push(format!(
                "Stopped after {} entries: {why}. Search a smaller folder.",
                self.seen
            ));
        }
        if self.too_deep > 0 {
            notes.push(format!("{} folders were too deep to enter.", self.too_deep));
        }
        if self.unreadable > 0 {
            notes.push(format!("{} folders could not be read.", self.unreadable));
        }
        if self.barred > 0 {
            notes.push(format!("{} entries are out of reach of file tools.", self.barred));
        }
        notes.extend(hidden_note(self.denied));
        (!notes.is_empty()).then(|| format!("({})", notes.join(" ")))
    }
}

struct Walker<'a, F> {
    roots: &'a Roots,
    spot: &'a ResolvedPath,
    /// Real path of the start.
    start: PathBuf,
    protected: Vec<Identity>,
    limits: Limits,
    until: Instant,
    cancel: &'a CancellationToken,
    report: WalkReport,
    visit: F,
}

/// Visits everything below a folder in name order, each folder before its content.
///
/// # Errors
/// [`FsErrorKind`] when the folder itself cannot be read, or the call was cancelled; otherwise the
/// error of the visitor.
pub fn walk<F>(
    roots: &Roots,
    spot: &ResolvedPath,
    limits: Limits,
    cancel: &CancellationToken,
    visit: F,
) -> Result<WalkReport, FsErrorKind>
where
    F: FnMut(&WalkEntry<'_>) -> Result<WalkAction, FsErrorKind>,
{
    let start = spot.open_dir()?;
    let mut walker = Walker {
        roots,
        spot,
        start: spot.real_path(),
        protected: roots.protected_paths().identities(),
        limits,
        until: Instant::now() + limits.time,
        cancel,
        report: WalkReport::default(),
        visit,
    };
    walker.folder(&start, &mut PathBuf::new(), 0)?;
    Ok(walker.report)
}

impl<F> Walker<'_, F>
where
    F: FnMut(&WalkEntry<'_>) -> Result<WalkAction, FsErrorKind>,
{
    /// Visits the entries of one folder; `false` ends the walk. The depth limit bounds the
    /// recursion.
    fn folder(
        &mut self,
        fd: &OwnedFd,
        path: &mut PathBuf,
        depth: usize,
    ) -> Result<bool, FsErrorKind> {
        for name in self.names(fd)? {
            if self.is_over()? {
                return Ok(false);
            }
            path.push(&name);
            let go_on = self.entry(fd, &name, path, depth)?;
            path.pop();
            if !go_on {
                return Ok(false);
            }
        }
        Ok(self.report.stopped.is_none())
    }

    fn entry(
        &mut self,
        fd: &OwnedFd,
        name: &OsStr,
        path: &mut PathBuf,
        depth: usize,
    ) -> Result<bool, FsErrorKind> {
        let stat = match rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        };
        if self.roots.protected_paths().protects_name(name) || self.protected.contains(&stat.into())
        {
            self.report.barred += 1;
            return Ok(true);
        }
        if self.roots.denials().hides(&self.start.join(&*path)) {
            self.report.denied += 1;
            return Ok(true);
        }
        self.report.seen += 1;
        let node = NodeKind::from_stat(&stat);
        match (self.visit)(&WalkEntry { path, stat: &stat, node, dir: fd.as_fd() })? {
            WalkAction::Stop => return Ok(false),
            WalkAction::Pass => return Ok(true),
            WalkAction::Enter if node != NodeKind::Dir => return Ok(true),
            WalkAction::Enter => {}
        }
        if depth >= self.limits.depth {
            self.report.too_deep += 1;
            return Ok(true);
        }
        match self.spot.open_entry(fd.as_fd(), name) {
            Ok(child) => self.folder(&child, path, depth + 1),
            Err(_) => {
                self.report.unreadable += 1;
                Ok(true)
            }
        }
    }

    /// Returns the names in a folder, sorted; at most as many as the entry limit allows.
    fn names(&mut self, fd: &OwnedFd) -> Result<Vec<OsString>, FsErrorKind> {
        let room = self.limits.entries.saturating_sub(self.report.seen);
        let mut names = Vec::new();
        for entry in Dir::read_from(fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || atomic_write::is_temp_name(name) {
                continue;
            }
            // Reads one name beyond the limit, so that the walk notices that it is incomplete.
            if names.len() > room || (names.len() % 1024 == 1023 && self.is_over()?) {
                break;
            }
            names.push(OsStr::from_bytes(name).to_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn is_over(&mut self) -> Result<bool, FsErrorKind> {
        if self.cancel.is_cancelled() {
            return Err(FsErrorKind::Cancelled);
        }
        if self.report.seen >= self.limits.entries {
            self.report.stopped = Some("that is the limit");
        } else if Instant::now() >= self.until {
            self.report.stopped = Some("the time is over");
        }
        Ok(self.report.stopped.is_some())
    }
}

impl ResolvedPath {
    fn open_entry(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (via, cross_mounts) = self.open_method();
        let fd = open_confined_in(dir, name, flags, via, cross_mounts)?;
        let dev = Identity::from(rustix::fs::fstat(&fd)?).dev;
        if !cross_mounts && dev != self.root.identity.dev { Err(Errno::XDEV) } else { Ok(fd) }
    }
}
