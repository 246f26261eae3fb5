//! What people do not want to see searched: `.gitignore` and `.ignore` files, from the root down.
#![deny(clippy::indexing_slicing)]

use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};

use super::beneath::{Node, Spot};
use super::roots::Roots;

/// The files, in the order in which they count: the last one that speaks of a path decides.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];
/// Bytes of one file that are read.
const MAX_BYTES: u64 = 256 * 1024;
/// Lines of one file that count, and bytes of a line: patterns become automata.
const MAX_LINES: usize = 2000;
const MAX_LINE: usize = 500;

/// The ignore files that hold for a folder. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Ignored {
    nearest: Option<Arc<Level>>,
}

#[derive(Debug)]
struct Level {
    /// The folder of the file, by its path below the root of the workspace.
    base: PathBuf,
    patterns: Gitignore,
    above: Option<Arc<Self>>,
}

impl Ignored {
    /// Those of the folders above a start, from its root down.
    pub(super) fn above(roots: &Roots, spot: &Spot) -> Self {
        let mut ignored = Self::default();
        let mut folders: Vec<&Path> = spot.real.ancestors().skip(1).collect();
        folders.reverse();
        for folder in folders {
            let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let Ok(at) = roots.resolve_kept(&spot.root.path, here) else { return ignored };
            let Ok(fd) = at.open_dir() else { return ignored };
            ignored = ignored.with(&fd, folder.to_owned());
        }
        ignored
    }

    /// The same with the files of one more folder, by its path below the start's root.
    pub(super) fn with(&self, folder: &OwnedFd, path: PathBuf) -> Self {
        let Some(patterns) = patterns_in(folder) else { return self.clone() };
        let level = Level { base: path, patterns, above: self.nearest.clone() };
        Self { nearest: Some(Arc::new(level)) }
    }

    /// Whether the nearest file that speaks of a path, given below the start's root, says that it is ignored.
    pub(super) fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let mut level = self.nearest.as_deref();
        while let Some(Level { base, patterns, above }) = level {
            match path.strip_prefix(base).map(|path| patterns.matched(path, is_dir)) {
                Ok(Match::Ignore(_)) => return true,
                Ok(Match::Whitelist(_)) => return false,
                _ => level = above.as_deref(),
            }
        }
        false
    }
}

/// The patterns of the ignore files in a folder; `None` = there are none.
fn patterns_in(folder: &OwnedFd) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    let mut any = false;
    for text in NAMES.iter().filter_map(|name| text_of(folder, name)) {
        for line in text.lines().take(MAX_LINES).filter(|line| line.len() <= MAX_LINE) {
            // A line that is no pattern ignores nothing, as in git.
            any |= builder.add_line(None, line).is_ok();
        }
    }
    any.then(|| builder.build().ok()).flatten()
}

/// The text of a plain file in a folder, as far as it is read.
fn text_of(folder: &OwnedFd, name: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty()).ok()?;
    if Node::of(&rustix::fs::fstat(&fd).ok()?) != Node::File {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::from(fd).take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
