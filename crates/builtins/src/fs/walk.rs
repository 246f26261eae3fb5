//! A bounded walk over a folder and everything below it, following no link. It says when and why it stopped.
#![deny(clippy::indexing_slicing)]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, OFlags, Stat};
use rustix::io::Errno;
use toolcrib_core::CancellationToken;

use super::beneath::{Identity, Node, Spot, open_in};
use super::error::Fault;
use super::roots::Roots;
use super::write;

/// What a walk may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Entries that are looked at.
    pub entries: usize,
    /// Folders below the start that are entered, in depth; 0 = only the start's own entries.
    pub depth: usize,
    /// How long it may take.
    pub time: Duration,
}

/// One entry on the walk.
#[derive(Debug)]
pub struct Item<'a> {
    /// Path below the start.
    pub path: &'a Path,
    /// Status; not of a link's target.
    pub stat: &'a Stat,
    /// What it is.
    pub node: Node,
    dir: BorrowedFd<'a>,
}

impl Item<'_> {
    /// The name, without the folder.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// The text of a link.
    #[must_use]
    pub fn target(&self) -> Option<String> {
        let text = rustix::fs::readlinkat(self.dir, self.name(), Vec::new()).ok()?;
        Some(String::from_utf8_lossy(text.as_bytes()).into_owned())
    }
}

/// What the visitor of an entry wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Go on, into the entry when it is a folder.
    Enter,
    /// Go on, not into it.
    Pass,
    /// End the walk.
    Stop,
}

/// How a walk ended, and what it did not look at.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Entries looked at.
    pub seen: usize,
    /// Why it ended early; `None` = everything was seen.
    pub stopped: Option<&'static str>,
    /// Folders that were not entered because of the depth.
    pub too_deep: usize,
    /// Folders that could not be read, or lie beyond a mount point.
    pub unreadable: usize,
    /// Entries of Toolcrib's own state, which are out of reach.
    pub barred: usize,
}

impl Report {
    /// Whether everything was seen.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stopped.is_none() && self.too_deep == 0 && self.unreadable == 0 && self.barred == 0
    }

    /// What was left out, as sentences for the model; `None` = nothing.
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
        (!notes.is_empty()).then(|| format!("({})", notes.join(" ")))
    }
}

struct Walker<'a, F> {
    roots: &'a Roots,
    spot: &'a Spot,
    protected: Vec<Identity>,
    limits: Limits,
    until: Instant,
    cancel: &'a CancellationToken,
    report: Report,
    visit: F,
}

/// Visits everything below the folder at `spot`, in the order of names, a folder before what is in it.
///
/// # Errors
/// [`Fault`] when the folder itself cannot be read, or the call was stopped; otherwise what the visitor returned.
pub fn walk<F>(
    roots: &Roots,
    spot: &Spot,
    limits: Limits,
    cancel: &CancellationToken,
    visit: F,
) -> Result<Report, Fault>
where
    F: FnMut(&Item<'_>) -> Result<Next, Fault>,
{
    let start = spot.open_dir()?;
    let mut walker = Walker {
        roots,
        spot,
        protected: roots.guard().identities(),
        limits,
        until: Instant::now() + limits.time,
        cancel,
        report: Report::default(),
        visit,
    };
    walker.folder(&start, &mut PathBuf::new(), 0)?;
    Ok(walker.report)
}

impl<F> Walker<'_, F>
where
    F: FnMut(&Item<'_>) -> Result<Next, Fault>,
{
    /// Visits the entries of one folder; `false` = the walk is over. The depth of the recursion is bounded by the limits.
    fn folder(&mut self, fd: &OwnedFd, path: &mut PathBuf, depth: usize) -> Result<bool, Fault> {
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
    ) -> Result<bool, Fault> {
        let stat = match rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        };
        if self.roots.guard().bars_name(name) || self.protected.contains(&stat.into()) {
            self.report.barred += 1;
            return Ok(true);
        }
        self.report.seen += 1;
        let node = Node::of(&stat);
        match (self.visit)(&Item { path, stat: &stat, node, dir: fd.as_fd() })? {
            Next::Stop => return Ok(false),
            Next::Pass => return Ok(true),
            Next::Enter if node != Node::Dir => return Ok(true),
            Next::Enter => {}
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

    /// The names in a folder, sorted; at most as many as may still be looked at.
    fn names(&mut self, fd: &OwnedFd) -> Result<Vec<OsString>, Fault> {
        let room = self.limits.entries.saturating_sub(self.report.seen);
        let mut names = Vec::new();
        for entry in Dir::read_from(fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || write::is_temp_name(name) {
                continue;
            }
            // One more than there is room for, so that the walk sees that it had to stop.
            if names.len() > room || (names.len() % 1024 == 1023 && self.is_over()?) {
                break;
            }
            names.push(OsStr::from_bytes(name).to_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn is_over(&mut self) -> Result<bool, Fault> {
        if self.cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        if self.report.seen >= self.limits.entries {
            self.report.stopped = Some("that is the limit");
        } else if Instant::now() >= self.until {
            self.report.stopped = Some("the time is over");
        }
        Ok(self.report.stopped.is_some())
    }
}

impl Spot {
    fn open_entry(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (via, cross_mounts) = self.way();
        let fd = open_in(dir, name, flags, via, cross_mounts)?;
        let dev = Identity::from(rustix::fs::fstat(&fd)?).dev;
        if !cross_mounts && dev != self.root.identity.dev { Err(Errno::XDEV) } else { Ok(fd) }
    }
}
