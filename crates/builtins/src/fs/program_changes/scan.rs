//! A scan of the workspace: one mark for each file, link and folder, from its metadata alone.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use toolcrib_core::CancellationToken;

use super::super::gitignore::IgnoreRules;
use super::super::resolve::NodeKind;
use super::super::roots::Roots;
use super::super::snapshot::{RootedPath, mode_of};
use super::super::walk::{Limits, WalkAction, WalkEntry, walk};
use super::super::{FsErrorKind, bounded_read};

/// Limits of a scan. 20,000 entries take about 40 ms; the changes that programs make in a larger
/// workspace are not recorded.
const LIMITS: Limits = Limits { entries: 20_000, depth: 64, time: Duration::from_millis(500) };

/// Folders that programs fill with generated files, skipped even if no ignore file names them.
const SKIPPED: [&str; 10] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "target",
    "__pycache__",
    ".venv",
    ".pytest_cache",
    ".mypy_cache",
];

/// Maximum lag of a file system's clock, which ticks with the kernel every 1 to 10 ms.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The workspace at one time.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) marks: BTreeMap<RootedPath, Mark>,
    /// Start of the scan minus [`CLOCK_TICK`], in nanoseconds since 1970. A file that changed at
    /// this time or later may change again within the same tick of the file system's clock, and
    /// then have the same mark.
    pub(super) since: i64,
}

/// The state of a path, identified without reading the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    File(FileMark),
    Link { target: PathBuf },
    Dir { mode: u32 },
}

/// The state of a regular file. No program can set `ctime`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileMark {
    ino: u64,
    pub(super) size: u64,
    mtime: i64,
    pub(super) ctime: i64,
    pub(super) mode: u32,
}

impl Scan {
    /// Scans all roots; `None` if a limit was reached or a root cannot be read.
    pub(super) fn of(roots: &Roots, cancel: &CancellationToken) -> Option<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = i64::try_from(now.saturating_sub(CLOCK_TICK).as_nanos()).unwrap_or(i64::MAX);
        let mut scan = Self { marks: BTreeMap::new(), since };
        for root in roots.paths() {
            scan.add(roots, root, cancel).ok()??;
        }
        Some(scan)
    }

    fn add(
        &mut self,
        roots: &Roots,
        root: &Path,
        cancel: &CancellationToken,
    ) -> Result<Option<()>, FsErrorKind> {
        let start = roots.resolve_in_root(root, Path::new("."))?;
        let mut ignored = Ignored::default();
        let limits = Limits { entries: LIMITS.entries.saturating_sub(self.marks.len()), ..LIMITS };
        let report = walk(roots, &start, limits, cancel, |entry| {
            let is_dir = entry.node == NodeKind::Dir;
            let is_skipped = is_dir && SKIPPED.iter().any(|name| entry.name() == *name);
            if is_skipped || ignored.contains(entry, is_dir) {
                return Ok(WalkAction::Pass);
            }
            if let Some(mark) = mark(entry) {
                let (root, path) = (root.to_owned(), entry.path.to_owned());
                self.marks.insert(RootedPath { root, path }, mark);
            }
            Ok(WalkAction::Enter)
        })?;
        Ok(report.stopped.is_none().then_some(()))
    }

    /// Returns whether an equal mark proves that the file has not changed since the scan.
    pub(super) fn is_sure(&self, mark: &FileMark) -> bool {
        mark.ctime < self.since
    }
}

fn mark(entry: &WalkEntry<'_>) -> Option<Mark> {
    Some(match entry.node {
        NodeKind::File => Mark::File(FileMark::of(entry.stat)),
        NodeKind::Link => Mark::Link { target: entry.link_target()? },
        NodeKind::Dir => Mark::Dir { mode: mode_of(entry.stat) },
        NodeKind::Special(_) => return None,
    })
}

impl FileMark {
    /// Returns the mark of a file with this status.
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            ino: stat.st_ino,
            size: bounded_read::size(stat),
            mtime: nanos(stat.st_mtime, stat.st_mtime_nsec),
            ctime: nanos(stat.st_ctime, stat.st_ctime_nsec),
            mode: mode_of(stat),
        }
    }
}

/// Returns nanoseconds since 1970. The width of the fields differs between systems.
fn nanos(seconds: impl TryInto<i64>, nanoseconds: impl TryInto<i64>) -> i64 {
    let seconds: i64 = seconds.try_into().unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

/// The ignore rules of the folders that the walk has entered.
#[derive(Default)]
struct Ignored {
    folders: HashMap<PathBuf, IgnoreRules>,
}

impl Ignored {
    fn contains(&mut self, entry: &WalkEntry<'_>, is_dir: bool) -> bool {
        let folder = entry.path.parent().unwrap_or(Path::new(""));
        if !self.folders.contains_key(folder) {
            let above = folder.parent().and_then(|above| self.folders.get(above));
            let above = above.cloned().unwrap_or_default();
            let rules = match entry.folder().try_clone_to_owned() {
                Ok(open) => above.with_folder(&open, folder.to_owned()),
                Err(_) => above,
            };
            self.folders.insert(folder.to_owned(), rules);
        }
        self.folders.get(folder).is_some_and(|rules| rules.is_ignored(entry.path, is_dir))
    }
}
