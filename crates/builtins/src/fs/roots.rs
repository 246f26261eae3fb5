//! Roots: the folders that file tools may use, opened once, and the protected paths inside them.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags};

use toolcrib_core::PathDenials;

use super::call_denials::CallDenials;
use super::error::{FsError, FsErrorKind};
use super::lexical_path;
use super::resolve::{self, Identity, LinkPolicy, NodeKind, OpenMethod, ResolvedPath};

/// Why a set of roots cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The list is empty.
    #[error("no root folder was given")]
    None,
    /// The folder cannot be opened.
    #[error("root {path} cannot be opened: {source}")]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// `/` or the home folder as the implicit root. They are too wide unless the caller names them.
    #[error("{0} is too wide for a default root: change to another folder, or name it as the root")]
    TooWide(PathBuf),
    /// The folder is protected or lies in a protected one.
    #[error(
        "root {0} lies in a folder that file tools must not change: toolcrib's own state, its configuration, or a folder of tools; name another folder"
    )]
    InsideState(PathBuf),
}

/// One root: a folder and its descriptor.
#[derive(Debug)]
pub struct Root {
    pub(super) path: PathBuf,
    /// The path as the caller wrote it, if it is absolute and differs from the real one.
    given: Option<PathBuf>,
    pub(super) fd: OwnedFd,
    pub(super) identity: Identity,
}

/// The folders that file tools may use. Cheap to clone; relative paths start at the first root.
#[derive(Debug, Clone)]
pub struct Roots {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    roots: Vec<Arc<Root>>,
    guard: ProtectedPaths,
    denials: CallDenials,
    via: OpenMethod,
    cross_mounts: bool,
}

/// Protected paths: Toolcrib's own state, by device and inode and by name.
#[derive(Debug, Default)]
pub(super) struct ProtectedPaths {
    protected: Vec<PathBuf>,
}

/// Name of the folder with a project's Toolcrib state; no path may contain it.
const STATE_FOLDER: &str = ".toolcrib";

impl ProtectedPaths {
    /// Returns whether a component is named like the state folder. Ignores case, because some file
    /// systems do.
    pub(super) fn protects_name(&self, name: &OsStr) -> bool {
        name.eq_ignore_ascii_case(STATE_FOLDER)
    }

    /// Returns device and inode of all protected paths. Computed again for each path, since stores
    /// replace their files at run time.
    pub(super) fn identities(&self) -> Vec<Identity> {
        self.protected.iter().filter_map(|path| Identity::from_path(path)).collect()
    }

    /// Returns whether a real path is protected or lies in a protected one, compared as text; for
    /// paths that do not exist yet.
    pub(super) fn protects_path(&self, path: &Path) -> bool {
        self.protected.iter().any(|protected| path.starts_with(protected))
    }
}

impl Roots {
    /// Opens the current folder as the only root. Refuses `/` and the home folder, which may be
    /// roots only if the caller names them.
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

    /// Opens these folders as roots; a folder that is renamed later remains the root.
    ///
    /// # Errors
    /// [`RootError`] when the list is empty, or an entry is not a folder that can be opened.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, RootError> {
        let roots = paths
            .into_iter()
            .map(|path| Root::open(path.as_ref()).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        if roots.is_empty() {
            return Err(RootError::None);
        }
        let inner = Inner {
            roots,
            guard: ProtectedPaths::default(),
            denials: CallDenials::default(),
            via: OpenMethod::detect(),
            cross_mounts: false,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Protects Toolcrib's own state: folders, stores, keys and sockets, whether they exist already
    /// or not. A `.toolcrib` component is always refused.
    ///
    /// # Errors
    /// [`RootError::InsideState`] when a root is a protected path or lies in one.
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
        Ok(self.with(|inner| inner.guard = ProtectedPaths { protected }))
    }

    /// Sets the open method; the default is [`OpenMethod::detect`].
    #[must_use]
    pub fn with_open_method(self, via: OpenMethod) -> Self {
        self.with(|inner| inner.via = via)
    }

    /// Allows crossing mount points inside a root, which is refused by default (`RESOLVE_NO_XDEV`).
    #[must_use]
    pub fn cross_mounts(self, cross: bool) -> Self {
        self.with(|inner| inner.cross_mounts = cross)
    }

    /// Returns the same roots for a call, without the paths that rules deny to it.
    #[must_use]
    pub fn for_call(&self, denials: &Arc<dyn PathDenials>) -> Self {
        if denials.is_empty() {
            return self.clone();
        }
        self.clone().with(|inner| inner.denials = CallDenials::new(Arc::clone(denials)))
    }

    /// Returns the paths that rules deny to the call of these roots.
    pub(crate) fn denials(&self) -> &CallDenials {
        &self.inner.denials
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let old = self.inner;
        let mut inner = Inner {
            roots: old.roots.clone(),
            guard: ProtectedPaths { protected: old.guard.protected.clone() },
            denials: old.denials.clone(),
            via: old.via,
            cross_mounts: old.cross_mounts,
        };
        change(&mut inner);
        Self { inner: Arc::new(inner) }
    }

    /// Returns the real paths of the roots, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.inner.roots.iter().map(|root| root.path.as_path())
    }

    /// Resolves a path of the caller: relative to the first root, or absolute inside any of them.
    ///
    /// # Errors
    /// [`FsError`]: [`FsErrorKind::Outside`] for everything outside, whether it exists or not;
    /// otherwise the obstacle.
    pub fn resolve(&self, path: &str, last: LinkPolicy) -> Result<ResolvedPath, FsError> {
        let found = self.split(Path::new(path)).and_then(|(root, rest)| {
            let spot = self.resolver(root).resolve(&rest, last)?;
            if lexical_path::wants_dir(Path::new(path))
                && matches!(spot.node, Some(n) if n != NodeKind::Dir)
            {
                return Err(FsErrorKind::NotDir);
            }
            Ok(spot)
        });
        found.map_err(|fault| fault.at(path))
    }

    /// Resolves a path from the journal: the real path of a root, and a real path below it.
    pub(super) fn resolve_in_root(
        &self,
        root: &Path,
        path: &Path,
    ) -> Result<ResolvedPath, FsErrorKind> {
        let root = self.inner.roots.iter().find(|r| r.path == root).ok_or(FsErrorKind::Outside)?;
        self.resolver(root).resolve(path, LinkPolicy::Real)
    }

    /// Returns the real path of an existing regular file, for passing to a program that sees the
    /// same files. The file is not opened.
    ///
    /// # Errors
    /// [`FsError`], as [`Self::resolve`]; [`FsErrorKind::NotFound`] when the file does not exist.
    pub(crate) fn real_path(&self, path: &str) -> Result<PathBuf, FsError> {
        let spot = self.resolve(path, LinkPolicy::Follow)?;
        match spot.node {
            None => Err(FsErrorKind::NotFound.at(path)),
            Some(_) => Ok(spot.root.path.join(&spot.real)),
        }
    }

    /// Returns a lock key that is equal for paths that name the same file. Purely lexical: links
    /// are not resolved.
    #[must_use]
    pub fn lock_key(&self, path: &str) -> Option<String> {
        Some(format!("file:{}", self.lexical_path(path)?.display()))
    }

    /// Returns the absolute path for a path, assuming that no component is a link; `None` if the
    /// path is not usable.
    pub(crate) fn lexical_path(&self, path: &str) -> Option<PathBuf> {
        let (root, rest) = self.split(Path::new(path)).ok()?;
        Some(root.path.join(lexical_path::normalise(&rest)))
    }

    pub(super) fn protected_paths(&self) -> &ProtectedPaths {
        &self.inner.guard
    }

    fn resolver<'a>(&'a self, root: &'a Arc<Root>) -> resolve::Resolver<'a> {
        resolve::Resolver {
            root,
            guard: &self.inner.guard,
            via: self.inner.via,
            cross_mounts: self.inner.cross_mounts,
        }
    }

    /// Returns the root that contains a path, and the rest of the path. Compares components, so
    /// `/root2` is never inside `/root`.
    fn split(&self, path: &Path) -> Result<(&Arc<Root>, PathBuf), FsErrorKind> {
        lexical_path::path_steps(path)?;
        if path.is_relative() {
            return self
                .inner
                .roots
                .first()
                .map(|r| (r, path.to_owned()))
                .ok_or(FsErrorKind::Outside);
        }
        let candidates = self.inner.roots.iter().flat_map(|root| {
            let names = std::iter::once(root.path.as_path()).chain(root.given.as_deref());
            names.filter_map(move |name| Some((root, name, path.strip_prefix(name).ok()?)))
        });
        candidates
            .max_by_key(|(_, name, _)| name.components().count())
            .map(|(root, _, rest)| (root, Path::new(".").join(rest)))
            .ok_or(FsErrorKind::Outside)
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

    /// Returns the part of an absolute path below this root.
    pub(super) fn relative(&self, path: &Path) -> Option<PathBuf> {
        let names = std::iter::once(self.path.as_path()).chain(self.given.as_deref());
        names.filter_map(|name| path.strip_prefix(name).ok()).next().map(Path::to_owned)
    }
}

/// Returns the real path of a possibly missing file by resolving its longest existing prefix.
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
