//! `.gitignore` and `.ignore` files, applied from the root down.
#![deny(clippy::indexing_slicing)]

use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};

use super::resolve::{NodeKind, ResolvedPath};
use super::roots::Roots;

/// Names of ignore files in order of precedence: the last one with a matching pattern decides.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];
/// Largest ignore file, in bytes.
const MAX_BYTES: u64 = 256 * 1024;
/// Maximum lines per file and bytes per line, because each pattern is compiled.
const MAX_LINES: usize = 2000;
const MAX_LINE: usize = 500;

/// The ignore files that apply to a folder. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreRules {
    nearest: Option<Arc<IgnoreFile>>,
}

#[derive(Debug)]
struct IgnoreFile {
    /// Path of the file's folder below the workspace root.
    base: PathBuf,
    patterns: Gitignore,
    above: Option<Arc<Self>>,
}

impl IgnoreRules {
    /// Returns the rules of all folders above the start, from its root down.
    pub(super) fn for_ancestors(roots: &Roots, spot: &ResolvedPath) -> Self {
        let mut ignored = Self::default();
        let mut folders: Vec<&Path> = spot.real.ancestors().skip(1).collect();
        folders.reverse();
        for folder in folders {
            let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let Ok(at) = roots.resolve_in_root(&spot.root.path, here) else { return ignored };
            let Ok(fd) = at.open_dir() else { return ignored };
            ignored = ignored.with_folder(&fd, folder.to_owned());
        }
        ignored
    }

    /// Adds the ignore files of one more folder, given by its path below the start's root.
    pub(super) fn with_folder(&self, folder: &OwnedFd, path: PathBuf) -> Self {
        let Some(patterns) = patterns_in(folder) else { return self.clone() };
        let level = IgnoreFile { base: path, patterns, above: self.nearest.clone() };
        Self { nearest: Some(Arc::new(level)) }
    }

    /// Returns whether the nearest matching pattern ignores the path, which is relative to the
    /// start's root.
    pub(super) fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let mut level = self.nearest.as_deref();
        while let Some(IgnoreFile { base, patterns, above }) = level {
            match path.strip_prefix(base).map(|path| patterns.matched(path, is_dir)) {
                Ok(Match::Ignore(_)) => return true,
                Ok(Match::Whitelist(_)) => return false,
                _ => level = above.as_deref(),
            }
        }
        false
    }
}

/// Returns the patterns of the ignore files in a folder; `None` if there are none.
fn patterns_in(folder: &OwnedFd) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    let mut any = false;
    for text in NAMES.iter().filter_map(|name| text_of(folder, name)) {
        for line in text.lines().take(MAX_LINES).filter(|line| line.len() <= MAX_LINE) {
            // An invalid line ignores nothing, as in git.
            any |= builder.add_line(None, line).is_ok();
        }
    }
    any.then(|| builder.build().ok()).flatten()
}

/// Returns the text of a regular file in a folder, up to the limit.
fn text_of(folder: &OwnedFd, name: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty()).ok()?;
    if NodeKind::from_stat(&rustix::fs::fstat(&fd).ok()?) != NodeKind::File {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::from(fd).take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
