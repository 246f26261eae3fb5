//! The resolver: from a path below a root to a parent descriptor and one name, never leaving the root.
//!
//! Each step is one open of one name in a folder that is already open, confined by the kernel (`openat2` with
//! `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV`, or `O_NOFOLLOW` where there is no `openat2`). Links are read and
//! their text walked the same way, so every folder on the way is compared with what is out of reach, and swapping a folder
//! for a link between two steps changes nothing: a descriptor does not follow names.
#![deny(clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::Fault;
use super::lexical::{MAX_PARTS, Part, parts};
use super::roots::{Guard, Root};

/// Most symbolic links on one path (Linux follows 40).
pub const MAX_LINKS: usize = 40;
/// How often a step is tried again when the entry changes under it.
const MAX_RACES: usize = 16;

/// How a name is opened in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// `openat2`: the kernel itself refuses to leave the folder, to follow magic links and to cross mounts.
    Openat2,
    /// `openat` with `O_NOFOLLOW`, for systems without `openat2`; crossed mounts are seen by their device number.
    Walk,
}

impl Via {
    /// The best way that this system has.
    #[must_use]
    pub fn best() -> Self {
        static BEST: std::sync::OnceLock<Via> = std::sync::OnceLock::new();
        *BEST.get_or_init(|| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match open_confined(CWD, OsStr::new("."), flags, Mode::empty(), false) {
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Self::Walk,
                _ => Self::Openat2,
            }
        })
    }
}

/// What to do with a link in the last place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Go where it leads, inside the root.
    Follow,
    /// Take the link itself: for deleting and moving.
    Itself,
    /// Take no link anywhere: for real paths that were resolved before. A link on the way is [`Fault::Changed`].
    Real,
}

/// Device and inode: what a file is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) dev: u64,
    pub(super) ino: u64,
}

impl Identity {
    pub(super) fn of(path: &Path) -> Option<Self> {
        rustix::fs::statat(CWD, path, AtFlags::empty()).ok().map(Self::from)
    }
}

impl From<Stat> for Identity {
    #[expect(clippy::useless_conversion, reason = "the width of st_dev differs between systems")]
    fn from(stat: Stat) -> Self {
        Self { dev: u64::try_from(stat.st_dev).unwrap_or(u64::MAX), ino: stat.st_ino }
    }
}

/// What kind of thing stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// A plain file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device; the word names it.
    Special(&'static str),
}

impl Node {
    pub(super) fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Special("FIFO"),
            FileType::Socket => Self::Special("socket"),
            _ => Self::Special("device"),
        }
    }
}

/// A resolved place: the folder, opened, and one name in it. Nothing of it is a link.
#[derive(Debug)]
pub struct Spot {
    pub(super) root: Arc<Root>,
    /// The deepest folder of the path that exists.
    dir: OwnedFd,
    /// Folders that are missing between `dir` and `name`.
    missing: Vec<OsString>,
    /// The name in the folder; `.` for the root itself.
    name: OsString,
    /// The real path below the root; empty for the root itself.
    pub(super) real: PathBuf,
    /// What stands there; `None` = nothing.
    pub node: Option<Node>,
    via: Via,
    cross_mounts: bool,
}

/// A root with everything that a resolution below it needs.
pub(super) struct Beneath<'a> {
    pub(super) root: &'a Arc<Root>,
    pub(super) guard: &'a Guard,
    pub(super) via: Via,
    pub(super) cross_mounts: bool,
}

/// A resolution on its way.
struct Walk<'a> {
    beneath: &'a Beneath<'a>,
    protected: Vec<Identity>,
    /// The folders from the root down: their names and descriptors, the root itself excluded.
    stack: Vec<(OsString, OwnedFd)>,
    todo: VecDeque<Part>,
    links: usize,
}

/// What one step found.
enum Step {
    Dir(OwnedFd),
    Link(PathBuf),
    Other(Node),
    Missing,
}

impl Beneath<'_> {
    /// Resolves a path below the root.
    pub(super) fn resolve(&self, path: &Path, last: Last) -> Result<Spot, Fault> {
        let mut walk = Walk {
            beneath: self,
            protected: self.guard.identities(),
            stack: Vec::new(),
            todo: parts(path)?.into(),
            links: 0,
        };
        let (missing, end) = walk.run(last)?;
        walk.finish(missing, end)
    }
}

/// The last name of a path with what it is, when the path ends in something that is no folder.
type End = Option<(OsString, Option<Node>)>;

impl Walk<'_> {
    /// Walks to the end of the path: missing folders, then the last name unless the path ended in a folder.
    fn run(&mut self, last: Last) -> Result<(Vec<OsString>, End), Fault> {
        while let Some(part) = self.todo.pop_front() {
            let Part::Down(name) = part else {
                self.stack.pop().ok_or(Fault::Outside)?;
                continue;
            };
            if self.beneath.guard.bars_name(&name) {
                return Err(Fault::Outside);
            }
            let is_last = self.todo.is_empty();
            match self.step(&name)? {
                Step::Dir(fd) => self.push(name, fd)?,
                Step::Link(_) if is_last && last != Last::Follow => {
                    return Ok((Vec::new(), Some((name, Some(Node::Link)))));
                }
                Step::Link(_) if last == Last::Real => return Err(Fault::Changed),
                Step::Link(target) => self.follow(&target)?,
                Step::Other(node) if is_last => return Ok((Vec::new(), Some((name, Some(node))))),
                Step::Other(_) => return Err(Fault::NotDir),
                Step::Missing => return self.rest(name),
            }
        }
        Ok((Vec::new(), None))
    }

    fn dir(&self) -> BorrowedFd<'_> {
        self.stack.last().map_or(self.beneath.root.fd.as_fd(), |(_, fd)| fd.as_fd())
    }

    /// Looks at one name in the current folder without following anything.
    fn step(&self, name: &OsStr) -> Result<Step, Fault> {
        let flags = path_flags() | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..MAX_RACES {
            match self.open(name, flags) {
                Ok(fd) => return Ok(Step::Dir(fd)),
                Err(Errno::NOENT) => return Ok(Step::Missing),
                Err(Errno::XDEV) => return Err(Fault::OtherMount),
                Err(Errno::NOTDIR | Errno::LOOP | Errno::AGAIN) => {}
                Err(errno) => return Err(errno.into()),
            }
            let stat = match rustix::fs::statat(self.dir(), name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(Step::Missing),
                Err(errno) => return Err(errno.into()),
            };
            match Node::of(&stat) {
                Node::Dir => {}
                Node::Link => match rustix::fs::readlinkat(self.dir(), name, Vec::new()) {
                    Ok(text) => {
                        let target = OsString::from_vec(text.into_bytes());
                        return Ok(Step::Link(target.into()));
                    }
                    Err(Errno::INVAL | Errno::NOENT) => {}
                    Err(errno) => return Err(errno.into()),
                },
                node => {
                    self.check(stat.into())?;
                    return Ok(Step::Other(node));
                }
            }
        }
        Err(Fault::Changed)
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        open_in(self.dir(), name, flags, self.beneath.via, self.beneath.cross_mounts)
    }

    fn push(&mut self, name: OsString, fd: OwnedFd) -> Result<(), Fault> {
        self.check(rustix::fs::fstat(&fd)?.into())?;
        if self.stack.len() >= MAX_PARTS {
            return Err(Fault::BadPath("it has more than 128 parts"));
        }
        self.stack.push((name, fd));
        Ok(())
    }

    fn check(&self, identity: Identity) -> Result<(), Fault> {
        if self.protected.contains(&identity) {
            return Err(Fault::Outside);
        }
        if !self.beneath.cross_mounts && identity.dev != self.beneath.root.identity.dev {
            return Err(Fault::OtherMount);
        }
        Ok(())
    }

    /// Puts the text of a link in front of what is left. An absolute one that lies in the root begins at the root again.
    fn follow(&mut self, target: &Path) -> Result<(), Fault> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Fault::Loop);
        }
        let target = if target.is_absolute() {
            let rest = self.beneath.root.relative(target).ok_or(Fault::Outside)?;
            self.stack.clear();
            rest
        } else {
            target.to_owned()
        };
        if target.as_os_str().is_empty() {
            return Ok(());
        }
        for part in parts(&target)?.into_iter().rev() {
            self.todo.push_front(part);
        }
        Ok(())
    }

    /// The rest of a path below a name that does not exist: it can only go down.
    fn rest(&mut self, name: OsString) -> Result<(Vec<OsString>, End), Fault> {
        let mut names = vec![name];
        for part in self.todo.drain(..) {
            let Part::Down(name) = part else { return Err(Fault::NotFound) };
            if self.beneath.guard.bars_name(&name) {
                return Err(Fault::Outside);
            }
            names.push(name);
        }
        if names.len() + self.stack.len() > MAX_PARTS {
            return Err(Fault::BadPath("it has more than 128 parts"));
        }
        let last = names.pop().unwrap_or_default();
        Ok((names, Some((last, None))))
    }

    fn finish(mut self, missing: Vec<OsString>, end: End) -> Result<Spot, Fault> {
        let mut real: PathBuf = self.stack.iter().map(|(name, _)| name).collect();
        let (name, node) = match end {
            Some((name, node)) => {
                real.extend(&missing);
                real.push(&name);
                (name, node)
            }
            // The path ended in a folder: stand in its parent.
            None => match self.stack.pop() {
                Some((name, _)) => (name, Some(Node::Dir)),
                None => (OsString::from("."), Some(Node::Dir)),
            },
        };
        let Beneath { root, guard, via, cross_mounts } = *self.beneath;
        if guard.bars_path(&root.path.join(&real)) {
            return Err(Fault::Outside);
        }
        let dir = match self.stack.pop() {
            Some((_, fd)) => fd,
            None => root.fd.try_clone().map_err(Fault::from)?,
        };
        Ok(Spot { root: Arc::clone(root), dir, missing, name, real, node, via, cross_mounts })
    }
}

impl Spot {
    /// The parent folder.
    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// The name in the parent folder.
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// The real path below the root, as text for results; `.` for the root itself.
    #[must_use]
    pub fn display(&self) -> String {
        if self.is_root() { ".".to_owned() } else { self.real.to_string_lossy().into_owned() }
    }

    /// How entries below are opened, and whether mount points are crossed.
    pub(super) fn way(&self) -> (Via, bool) {
        (self.via, self.cross_mounts)
    }

    /// The real path, for programs that are confined by themselves; file tools never resolve it again.
    pub(crate) fn real_path(&self) -> PathBuf {
        self.root.path.join(&self.real)
    }

    /// Whether this is the root itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.real.as_os_str().is_empty()
    }

    /// Folders that are missing above the name, by their real paths.
    pub(super) fn missing_dirs(&self) -> Vec<PathBuf> {
        let mut path = self.real.clone();
        let mut dirs: Vec<_> = self
            .missing
            .iter()
            .map(|_| {
                path.pop();
                path.clone()
            })
            .collect();
        dirs.reverse();
        dirs
    }

    /// Creates the missing folders above the name and stands in the last of them.
    pub(super) fn make_parents(&mut self) -> Result<(), Fault> {
        for name in std::mem::take(&mut self.missing) {
            match rustix::fs::mkdirat(&self.dir, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.dir = self.open_in_dir(&name, path_flags() | OFlags::DIRECTORY)?;
        }
        Ok(())
    }

    /// The status of what stands there, not following a link.
    pub(crate) fn stat(&self) -> Result<Stat, Fault> {
        if !self.missing.is_empty() {
            return Err(Fault::NotFound);
        }
        Ok(rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The text of the link that stands there; `None` = no link, or it went away.
    #[must_use]
    pub fn link_target(&self) -> Option<String> {
        let text = rustix::fs::readlinkat(&self.dir, &self.name, Vec::new()).ok()?;
        Some(String::from_utf8_lossy(text.as_bytes()).into_owned())
    }

    /// Opens the plain file that stands there; a FIFO, socket or device is refused without being opened, and never waited for.
    pub(super) fn open_file(&self, flags: OFlags) -> Result<(std::fs::File, Stat), Fault> {
        plain(&self.stat()?)?;
        let fd = self.open_in_dir(&self.name, flags | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let stat = rustix::fs::fstat(&fd)?;
        plain(&stat)?;
        Ok((fd.into(), stat))
    }

    /// Opens the folder that stands there, for reading its entries.
    pub(super) fn open_dir(&self) -> Result<OwnedFd, Fault> {
        if !self.missing.is_empty() {
            return Err(Fault::NotFound);
        }
        self.open_in_dir(&self.name, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_in_dir(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Fault> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..MAX_RACES {
            match open_in(self.dir.as_fd(), name, flags, self.via, self.cross_mounts) {
                Err(Errno::AGAIN) => {}
                Err(Errno::XDEV) => return Err(Fault::OtherMount),
                // It was no link when the path was resolved.
                Err(Errno::LOOP) => return Err(Fault::Changed),
                other => return other.map_err(Fault::from),
            }
        }
        Err(Fault::Changed)
    }
}

/// Refuses everything but a plain file.
fn plain(stat: &Stat) -> Result<(), Fault> {
    match Node::of(stat) {
        Node::File => Ok(()),
        Node::Dir => Err(Fault::IsDir),
        Node::Link => Err(Fault::Changed),
        Node::Special(what) => Err(Fault::Special(what)),
    }
}

/// Opens a folder without needing the right to list it, where the system can.
fn path_flags() -> OFlags {
    #[cfg(target_os = "linux")]
    return OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    return OFlags::RDONLY;
}

pub(super) fn open_in(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    flags: OFlags,
    via: Via,
    cross_mounts: bool,
) -> Result<OwnedFd, Errno> {
    debug_assert!(!name.as_bytes().contains(&b'/'), "one name, never a path");
    match via {
        Via::Openat2 => open_confined(dir, name, flags, Mode::empty(), cross_mounts),
        Via::Walk => rustix::fs::openat(dir, name, flags, Mode::empty()),
    }
}

#[cfg(target_os = "linux")]
fn open_confined(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    flags: OFlags,
    mode: Mode,
    cross_mounts: bool,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    resolve.set(ResolveFlags::NO_XDEV, !cross_mounts);
    rustix::fs::openat2(dir, name, flags, mode, resolve)
}

#[cfg(not(target_os = "linux"))]
fn open_confined(
    _: BorrowedFd<'_>,
    _: &OsStr,
    _: OFlags,
    _: Mode,
    _: bool,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests;
