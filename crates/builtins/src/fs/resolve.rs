//! Path resolver: converts a path below a root to a parent descriptor and one name, without ever
//! leaving the root.
//!
//! Each step opens one name in an already open folder, confined by the kernel: `openat2` with
//! `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV`, or `O_NOFOLLOW` where `openat2` is
//! missing. The resolver reads links itself and walks their text the same way, so every folder on
//! the path is compared with the protected ones. Replacing a folder by a link between two steps has
//! no effect, because a descriptor does not follow names.
#![deny(clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::FsErrorKind;
use super::lexical_path::{MAX_PARTS, PathStep, path_steps};
use super::roots::{ProtectedPaths, Root};

/// Maximum number of symbolic links on one path (the Linux limit).
pub const MAX_LINKS: usize = 40;
/// How often a step is retried when the entry changes under it.
const MAX_RACES: usize = 16;

/// How a name is opened in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMethod {
    /// `openat2`: the kernel refuses to leave the folder, to follow magic links and to cross
    /// mounts.
    Openat2,
    /// `openat` with `O_NOFOLLOW`, for systems without `openat2`; a changed device number reveals a
    /// crossed mount.
    Walk,
}

impl OpenMethod {
    /// Returns the best method that this system supports.
    #[must_use]
    pub fn detect() -> Self {
        static BEST: std::sync::OnceLock<OpenMethod> = std::sync::OnceLock::new();
        *BEST.get_or_init(|| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match open_confined(CWD, OsStr::new("."), flags, Mode::empty(), false) {
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Self::Walk,
                _ => Self::Openat2,
            }
        })
    }
}

/// How to treat a link in the last component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPolicy {
    /// Follow it, inside the root.
    Follow,
    /// Take the link itself: for deleting and moving.
    Itself,
    /// Allow no links: for real paths that were resolved before. A link on the path is
    /// [`FsErrorKind::Changed`].
    Real,
}

/// Device and inode: the identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) dev: u64,
    pub(super) ino: u64,
}

impl Identity {
    pub(super) fn from_path(path: &Path) -> Option<Self> {
        rustix::fs::statat(CWD, path, AtFlags::empty()).ok().map(Self::from)
    }
}

impl From<Stat> for Identity {
    #[expect(clippy::useless_conversion, reason = "the width of st_dev differs between systems")]
    fn from(stat: Stat) -> Self {
        Self { dev: u64::try_from(stat.st_dev).unwrap_or(u64::MAX), ino: stat.st_ino }
    }
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device, by name.
    Special(&'static str),
}

impl NodeKind {
    pub(super) fn from_stat(stat: &Stat) -> Self {
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

/// A resolved path: the open parent folder and one name in it. No component is a link.
#[derive(Debug)]
pub struct ResolvedPath {
    pub(super) root: Arc<Root>,
    /// The deepest folder of the path that exists.
    dir: OwnedFd,
    /// Missing folders between `dir` and `name`.
    missing: Vec<OsString>,
    /// The name in the folder; `.` for the root itself.
    name: OsString,
    /// The real path below the root; empty for the root itself.
    pub(super) real: PathBuf,
    /// The kind of the entry; `None` if it does not exist.
    pub node: Option<NodeKind>,
    via: OpenMethod,
    cross_mounts: bool,
}

/// A root with the data for resolving paths below it.
pub(super) struct Resolver<'a> {
    pub(super) root: &'a Arc<Root>,
    pub(super) guard: &'a ProtectedPaths,
    pub(super) via: OpenMethod,
    pub(super) cross_mounts: bool,
}

/// A resolution in progress.
struct ResolveWalk<'a> {
    beneath: &'a Resolver<'a>,
    protected: Vec<Identity>,
    /// Names and descriptors of the folders from the root down, without the root.
    stack: Vec<(OsString, OwnedFd)>,
    todo: VecDeque<PathStep>,
    links: usize,
}

/// The result of one step.
enum Step {
    Dir(OwnedFd),
    Link(PathBuf),
    Other(NodeKind),
    Missing,
}

impl Resolver<'_> {
    /// Resolves a path below the root.
    pub(super) fn resolve(
        &self,
        path: &Path,
        last: LinkPolicy,
    ) -> Result<ResolvedPath, FsErrorKind> {
        let mut walk = ResolveWalk {
            beneath: self,
            protected: self.guard.identities(),
            stack: Vec::new(),
            todo: path_steps(path)?.into(),
            links: 0,
        };
        let (missing, end) = walk.run(last)?;
        walk.finish(missing, end)
    }
}

/// The last name of a path and its kind, if the path does not end in a folder.
type End = Option<(OsString, Option<NodeKind>)>;

impl ResolveWalk<'_> {
    /// Walks to the end of the path; returns the missing folders, and the last name unless the path
    /// ended in a folder.
    fn run(&mut self, last: LinkPolicy) -> Result<(Vec<OsString>, End), FsErrorKind> {
        while let Some(part) = self.todo.pop_front() {
            let PathStep::Down(name) = part else {
                self.stack.pop().ok_or(FsErrorKind::Outside)?;
                continue;
            };
            if self.beneath.guard.protects_name(&name) {
                return Err(FsErrorKind::Outside);
            }
            let is_last = self.todo.is_empty();
            match self.step(&name)? {
                Step::Dir(fd) => self.push(name, fd)?,
                Step::Link(_) if is_last && last != LinkPolicy::Follow => {
                    return Ok((Vec::new(), Some((name, Some(NodeKind::Link)))));
                }
                Step::Link(_) if last == LinkPolicy::Real => return Err(FsErrorKind::Changed),
                Step::Link(target) => self.follow(&target)?,
                Step::Other(node) if is_last => return Ok((Vec::new(), Some((name, Some(node))))),
                Step::Other(_) => return Err(FsErrorKind::NotDir),
                Step::Missing => return self.resolve_missing(name),
            }
        }
        Ok((Vec::new(), None))
    }

    fn dir(&self) -> BorrowedFd<'_> {
        self.stack.last().map_or(self.beneath.root.fd.as_fd(), |(_, fd)| fd.as_fd())
    }

    /// Examines one name in the current folder without following links.
    fn step(&self, name: &OsStr) -> Result<Step, FsErrorKind> {
        let flags = path_flags() | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..MAX_RACES {
            match self.open(name, flags) {
                Ok(fd) => return Ok(Step::Dir(fd)),
                Err(Errno::NOENT) => return Ok(Step::Missing),
                Err(Errno::XDEV) => return Err(FsErrorKind::OtherMount),
                Err(Errno::NOTDIR | Errno::LOOP | Errno::AGAIN) => {}
                Err(errno) => return Err(errno.into()),
            }
            let stat = match rustix::fs::statat(self.dir(), name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(Step::Missing),
                Err(errno) => return Err(errno.into()),
            };
            match NodeKind::from_stat(&stat) {
                NodeKind::Dir => {}
                NodeKind::Link => match rustix::fs::readlinkat(self.dir(), name, Vec::new()) {
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
        Err(FsErrorKind::Changed)
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        open_confined_in(self.dir(), name, flags, self.beneath.via, self.beneath.cross_mounts)
    }

    fn push(&mut self, name: OsString, fd: OwnedFd) -> Result<(), FsErrorKind> {
        self.check(rustix::fs::fstat(&fd)?.into())?;
        if self.stack.len() >= MAX_PARTS {
            return Err(FsErrorKind::BadPath("it has more than 128 parts"));
        }
        self.stack.push((name, fd));
        Ok(())
    }

    fn check(&self, identity: Identity) -> Result<(), FsErrorKind> {
        if self.protected.contains(&identity) {
            return Err(FsErrorKind::Outside);
        }
        if !self.beneath.cross_mounts && identity.dev != self.beneath.root.identity.dev {
            return Err(FsErrorKind::OtherMount);
        }
        Ok(())
    }

    /// Prepends the text of a link to the remaining path. An absolute one inside the root restarts
    /// at the root.
    fn follow(&mut self, target: &Path) -> Result<(), FsErrorKind> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(FsErrorKind::Loop);
        }
        let target = if target.is_absolute() {
            let rest = self.beneath.root.relative(target).ok_or(FsErrorKind::Outside)?;
            self.stack.clear();
            rest
        } else {
            target.to_owned()
        };
        if target.as_os_str().is_empty() {
            return Ok(());
        }
        for part in path_steps(&target)?.into_iter().rev() {
            self.todo.push_front(part);
        }
        Ok(())
    }

    /// Resolves the rest of a path below a missing name, where only downward steps are possible.
    fn resolve_missing(&mut self, name: OsString) -> Result<(Vec<OsString>, End), FsErrorKind> {
        let mut names = vec![name];
        for part in self.todo.drain(..) {
            let PathStep::Down(name) = part else { return Err(FsErrorKind::NotFound) };
            if self.beneath.guard.protects_name(&name) {
                return Err(FsErrorKind::Outside);
            }
            names.push(name);
        }
        if names.len() + self.stack.len() > MAX_PARTS {
            return Err(FsErrorKind::BadPath("it has more than 128 parts"));
        }
        let last = names.pop().unwrap_or_default();
        Ok((names, Some((last, None))))
    }

    fn finish(mut self, missing: Vec<OsString>, end: End) -> Result<ResolvedPath, FsErrorKind> {
        let mut real: PathBuf = self.stack.iter().map(|(name, _)| name).collect();
        let (name, node) = match end {
            Some((name, node)) => {
                real.extend(&missing);
                real.push(&name);
                (name, node)
            }
            // The path ended in a folder: its parent becomes the descriptor.
            None => match self.stack.pop() {
                Some((name, _)) => (name, Some(NodeKind::Dir)),
                None => (OsString::from("."), Some(NodeKind::Dir)),
            },
        };
        let Resolver { root, guard, via, cross_mounts } = *self.beneath;
        if guard.protects_path(&root.path.join(&real)) {
            return Err(FsErrorKind::Outside);
        }
        let dir = match self.stack.pop() {
            Some((_, fd)) => fd,
            None => root.fd.try_clone().map_err(FsErrorKind::from)?,
        };
        Ok(ResolvedPath {
            root: Arc::clone(root),
            dir,
            missing,
            name,
            real,
            node,
            via,
            cross_mounts,
        })
    }
}

impl ResolvedPath {
    /// Returns the parent folder.
    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Returns the name in the parent folder.
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the real path below the root, for results; `.` for the root itself.
    #[must_use]
    pub fn display(&self) -> String {
        if self.is_root() { ".".to_owned() } else { self.real.to_string_lossy().into_owned() }
    }

    /// Returns how entries below are opened, and whether mount points may be crossed.
    pub(super) fn open_method(&self) -> (OpenMethod, bool) {
        (self.via, self.cross_mounts)
    }

    /// Returns the real path, for programs that are confined themselves; file tools never resolve
    /// it again.
    pub(crate) fn real_path(&self) -> PathBuf {
        self.root.path.join(&self.real)
    }

    /// Returns whether this is the root itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.real.as_os_str().is_empty()
    }

    /// Returns the real paths of the missing folders above the name.
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

    /// Creates the missing folders above the name; the last one becomes the parent descriptor.
    pub(super) fn make_parents(&mut self) -> Result<(), FsErrorKind> {
        for name in std::mem::take(&mut self.missing) {
            match rustix::fs::mkdirat(&self.dir, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.dir = self.open_in_dir(&name, path_flags() | OFlags::DIRECTORY)?;
        }
        Ok(())
    }

    /// Returns the status of the entry, without following a link.
    pub(crate) fn stat(&self) -> Result<Stat, FsErrorKind> {
        if !self.missing.is_empty() {
            return Err(FsErrorKind::NotFound);
        }
        Ok(rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Returns the target text of the link; `None` if the entry is not a link or is gone.
    #[must_use]
    pub fn link_target(&self) -> Option<String> {
        let text = rustix::fs::readlinkat(&self.dir, &self.name, Vec::new()).ok()?;
        Some(String::from_utf8_lossy(text.as_bytes()).into_owned())
    }

    /// Opens the regular file. A FIFO, socket or device is refused before it is opened, so the call
    /// never blocks on one.
    pub(super) fn open_file(&self, flags: OFlags) -> Result<(std::fs::File, Stat), FsErrorKind> {
        require_regular_file(&self.stat()?)?;
        let fd = self.open_in_dir(&self.name, flags | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let stat = rustix::fs::fstat(&fd)?;
        require_regular_file(&stat)?;
        Ok((fd.into(), stat))
    }

    /// Opens the folder for reading its entries.
    pub(super) fn open_dir(&self) -> Result<OwnedFd, FsErrorKind> {
        if !self.missing.is_empty() {
            return Err(FsErrorKind::NotFound);
        }
        self.open_in_dir(&self.name, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_in_dir(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, FsErrorKind> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..MAX_RACES {
            match open_confined_in(self.dir.as_fd(), name, flags, self.via, self.cross_mounts) {
                Err(Errno::AGAIN) => {}
                Err(Errno::XDEV) => return Err(FsErrorKind::OtherMount),
                // It was not a link when the path was resolved.
                Err(Errno::LOOP) => return Err(FsErrorKind::Changed),
                other => return other.map_err(FsErrorKind::from),
            }
        }
        Err(FsErrorKind::Changed)
    }
}

/// Refuses everything but a regular file.
fn require_regular_file(stat: &Stat) -> Result<(), FsErrorKind> {
    match NodeKind::from_stat(stat) {
        NodeKind::File => Ok(()),
        NodeKind::Dir => Err(FsErrorKind::IsDir),
        NodeKind::Link => Err(FsErrorKind::Changed),
        NodeKind::Special(what) => Err(FsErrorKind::Special(what)),
    }
}

/// Returns the flags for opening a folder without read permission on it, where the system supports
/// that.
fn path_flags() -> OFlags {
    #[cfg(target_os = "linux")]
    return OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    return OFlags::RDONLY;
}

pub(super) fn open_confined_in(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    flags: OFlags,
    via: OpenMethod,
    cross_mounts: bool,
) -> Result<OwnedFd, Errno> {
    debug_assert!(!name.as_bytes().contains(&b'/'), "one name, never a path");
    match via {
        OpenMethod::Openat2 => open_confined(dir, name, flags, Mode::empty(), cross_mounts),
        OpenMethod::Walk => rustix::fs::openat(dir, name, flags, Mode::empty()),
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
