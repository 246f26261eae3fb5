//! The folders that file tools may use, opened once, and what is out of reach inside them.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags};

use super::beneath::{self, Identity, Last, Node, Spot, Via};
use super::error::{Fault, FsError};
use super::lexical;

/// Why a set of roots cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// No folder was given.
    #[error("no root folder was given")]
    None,
    /// The folder cannot be opened.
    #[error("root {path} cannot be opened: {source}")]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// `/` or the home folder, without having been named by the caller (DESIGN 9, Files).
    #[error("{0} is used as a root only when it is named: change the folder or name it")]
    TooWide(PathBuf),
    /// The folder is one of those that are out of reach, or lies in one.
    #[error(
        "root {0} lies in a folder that file tools must not change: toolcrib's own state, its configuration, or a folder of tools; name another folder"
    )]
    InsideState(PathBuf),
}

/// One root: a folder and its descriptor.
#[derive(Debug)]
pub struct Root {
    pub(super) path: PathBuf,
    /// The path as the caller wrote it, when that is absolute and different from the real one.
    given: Option<PathBuf>,
    pub(super) fd: OwnedFd,
    pub(super) identity: Identity,
}

/// The folders that file tools may use. Cheap to clone; the first root is where relative paths begin.
#[derive(Debug, Clone)]
pub struct Roots {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    roots: Vec<Arc<Root>>,
    guard: Guard,
    via: Via,
    cross_mounts: bool,
}

/// What no path may lead to: Toolcrib's own state, by identity and by name.
#[derive(Debug, Default)]
pub(super) struct Guard {
    protected: Vec<PathBuf>,
}

/// Name of the folder that holds a project's own Toolcrib state; no path may have it as a part.
const STATE_FOLDER: &str = ".toolcrib";

impl Guard {
    /// Whether a part of a path has the name of the state folder; also where the file system does not tell case apart.
    pub(super) fn bars_name(&self, name: &OsStr) -> bool {
        name.eq_ignore_ascii_case(STATE_FOLDER)
    }

    /// The device and inode of what is protected now. Asked anew for each path: files of a store are replaced as it works.
    pub(super) fn identities(&self) -> Vec<Identity> {
        self.protected.iter().filter_map(|path| Identity::of(path)).collect()
    }

    /// Whether a real path is protected, or lies in something that is, by text; for what does not exist yet.
    pub(super) fn bars_path(&self, path: &Path) -> bool {
        self.protected.iter().any(|protected| path.starts_with(protected))
    }
}

impl Roots {
    /// The current folder as the only root. `/` and the home folder are refused: they are roots only when named (DESIGN 9, Files).
    ///
    /// # Errors
    /// [`RootError`] when the folder is one of these, or cannot be opened.
    pub fn current(home: Option<&Path>) -> Result<Self, RootError> {
        let unreadable = |source| RootError::Unreadable { path: PathBuf::from("."), source };
        let here = std::env::current_dir().and_then(|p| p.canonicalize()).map_err(unreadable)?;
        let home = home.and_then(|h| h.canonicalize().ok());
        if here.parent().is_none() || home.as_deref() == Some(here.as_path()) {
            return Err(RootError::TooWide(here));
        }
        Self::open([here])
    }

    /// These folders as roots, opened now: a folder that is renamed later stays the root.
    ///
    /// # Errors
    /// [`RootError`] when there is none, or one is no folder that can be opened.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, RootError> {
        let roots = paths
            .into_iter()
            .map(|path| Root::open(path.as_ref()).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        if roots.is_empty() {
            return Err(RootError::None);
        }
        let inner = Inner { roots, guard: Guard::default(), via: Via::best(), cross_mounts: false };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The same with Toolcrib's own state out of reach: folders, stores, keys and sockets, whether they exist already or not.
    /// A `.toolcrib` part is refused in any case.
    ///
    /// # Errors
    /// [`RootError::InsideState`] when a root is one of them or lies in one.
    pub fn protect<P: AsRef<Path>>(
        self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Self, RootError> {
        let protected: Vec<_> = paths.into_iter().map(|path| real(path.as_ref())).collect();
        for root in &self.inner.roots {
            if protected.iter().any(|state| root.path.starts_with(state)) {
                return Err(RootError::InsideState(root.path.clone()));
            }
        }
        Ok(self.with(|inner| inner.guard = Guard { protected }))
    }

    /// The same with the given way of opening; the default is the best one that this system has.
    #[must_use]
    pub fn via(self, via: Via) -> Self {
        self.with(|inner| inner.via = via)
    }

    /// The same, going on below mount points inside a root, which are refused by default (`RESOLVE_NO_XDEV`).
    #[must_use]
    pub fn cross_mounts(self, cross: bool) -> Self {
        self.with(|inner| inner.cross_mounts = cross)
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let old = self.inner;
        let mut inner = Inner {
            roots: old.roots.clone(),
            guard: Guard { protected: old.guard.protected.clone() },
            via: old.via,
            cross_mounts: old.cross_mounts,
        };
        change(&mut inner);
        Self { inner: Arc::new(inner) }
    }

    /// The real paths of the roots, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.inner.roots.iter().map(|root| root.path.as_path())
    }

    /// Resolves a path of the caller: relative to the first root, or absolute inside one of them.
    ///
    /// # Errors
    /// [`FsError`]: [`Fault::Outside`] for everything outside, whether it exists or not; otherwise what stands in the way.
    pub fn resolve(&self, path: &str, last: Last) -> Result<Spot, FsError> {
        let found = self.split(Path::new(path)).and_then(|(root, rest)| {
            let spot = self.beneath(root).resolve(&rest, last)?;
            if lexical::wants_dir(Path::new(path)) && matches!(spot.node, Some(n) if n != Node::Dir)
            {
                return Err(Fault::NotDir);
            }
            Ok(spot)
        });
        found.map_err(|fault| fault.at(path))
    }

    /// Resolves a path that the journal kept: the real path of a root, and a real path below it.
    pub(super) fn resolve_kept(&self, root: &Path, path: &Path) -> Result<Spot, Fault> {
        let root = self.inner.roots.iter().find(|r| r.path == root).ok_or(Fault::Outside)?;
        self.beneath(root).resolve(path, Last::Real)
    }

    /// The real path of a plain file that is there, for telling a program that sees the same files. Nothing of ours is opened by it.
    ///
    /// # Errors
    /// [`FsError`], as [`Self::resolve`]; [`Fault::NotFound`] when nothing is there.
    pub(crate) fn real_path(&self, path: &str) -> Result<PathBuf, FsError> {
        let spot = self.resolve(path, Last::Follow)?;
        match spot.node {
            None => Err(Fault::NotFound.at(path)),
            Some(_) => Ok(spot.root.path.join(&spot.real)),
        }
    }

    /// What two paths have in common when they name the same file: for locks. Made of text alone; links are not looked at.
    #[must_use]
    pub fn lock_key(&self, path: &str) -> Option<String> {
        let (root, rest) = self.split(Path::new(path)).ok()?;
        Some(format!("file:{}", root.path.join(lexical::normalise(&rest)).display()))
    }

    pub(super) fn guard(&self) -> &Guard {
        &self.inner.guard
    }

    fn beneath<'a>(&'a self, root: &'a Arc<Root>) -> beneath::Beneath<'a> {
        beneath::Beneath {
            root,
            guard: &self.inner.guard,
            via: self.inner.via,
            cross_mounts: self.inner.cross_mounts,
        }
    }

    /// The root that a path belongs to and the rest of it. Compared part by part, so `/root2` never lies in `/root`.
    fn split(&self, path: &Path) -> Result<(&Arc<Root>, PathBuf), Fault> {
        lexical::parts(path)?;
        if path.is_relative() {
            return self.inner.roots.first().map(|r| (r, path.to_owned())).ok_or(Fault::Outside);
        }
        let candidates = self.inner.roots.iter().flat_map(|root| {
            let names = std::iter::once(root.path.as_path()).chain(root.given.as_deref());
            names.filter_map(move |name| Some((root, name, path.strip_prefix(name).ok()?)))
        });
        candidates
            .max_by_key(|(_, name, _)| name.components().count())
            .map(|(root, _, rest)| (root, Path::new(".").join(rest)))
            .ok_or(Fault::Outside)
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self, RootError> {
        let unreadable = |source| RootError::Unreadable { path: path.to_owned(), source };
        let real = path.canonicalize().map_err(unreadable)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, &real, flags, Mode::empty())
            .map_err(|errno| unreadable(errno.into()))?;
        let identity = rustix::fs::fstat(&fd).map_err(|errno| unreadable(errno.into()))?.into();
        let given = (path.is_absolute() && path != real).then(|| path.to_owned());
        Ok(Self { path: real, given, fd, identity })
    }

    /// The part of an absolute path below this root.
    pub(super) fn relative(&self, path: &Path) -> Option<PathBuf> {
        let names = std::iter::once(self.path.as_path()).chain(self.given.as_deref());
        names.filter_map(|name| path.strip_prefix(name).ok()).next().map(Path::to_owned)
    }
}

/// The real path of something that need not exist yet: its longest existing part made real.
fn real(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find_map(|head| Some((head, head.canonicalize().ok()?)));
    match found {
        Some((head, real)) => match absolute.strip_prefix(head) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        },
        None => absolute,
    }
}
