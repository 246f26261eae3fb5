//! Operations on a folder with its content: list, copy, remove. Bounded; symlinks are never
//! followed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use toolcrib_core::CancellationToken;

use super::atomic_write::TempFile;
use super::bounded_read;
use super::error::FsErrorKind;
use super::resolve::{NodeKind, ResolvedPath};
use super::roots::Roots;
use super::snapshot::{self, RootedPath, Snapshot, link_text, mode_of};
use super::walk::{Limits, WalkAction, walk};

/// Maximum number of entries of a folder that one change covers.
const MAX_ENTRIES: usize = 10_000;
/// Walk limits for a change of a folder.
const LIMITS: Limits = Limits { entries: MAX_ENTRIES, depth: 64, time: Duration::from_secs(8) };

/// Lists everything below a folder, each folder before its content. An incomplete listing is an
/// error, so that no change covers only a part of a folder.
pub(super) fn entries(
    roots: &Roots,
    spot: &ResolvedPath,
    cancel: &CancellationToken,
) -> Result<Vec<(PathBuf, NodeKind)>, FsErrorKind> {
    let mut found = Vec::new();
    let report = walk(roots, spot, LIMITS, cancel, |item| {
        found.push((item.path.to_owned(), item.node));
        Ok(WalkAction::Enter)
    })?;
    if report.barred > 0 {
        return Err(FsErrorKind::Outside);
    }
    if report.unreadable > 0 {
        // A folder that cannot be read or is a mount point cannot be changed as a whole.
        return Err(FsErrorKind::Os(Errno::ACCESS));
    }
    if !report.is_complete() {
        return Err(FsErrorKind::TooLarge(format!(
            "the folder has more than {MAX_ENTRIES} entries, or more than 64 levels. Work on its parts one by one."
        )));
    }
    Ok(found)
}

/// Removes an entry: a link itself, a folder only if it is empty.
pub(super) fn remove(spot: &ResolvedPath) -> Result<(), FsErrorKind> {
    let flags =
        if spot.node == Some(NodeKind::Dir) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    rustix::fs::unlinkat(spot.dir(), spot.name(), flags).map_err(super::atomic_write::read_only)
}

/// Removes a tree that was just created; entries that cannot be removed stay.
pub(super) fn discard_created(roots: &Roots, place: &RootedPath, created: &[PathBuf]) {
    let all = created.iter().rev().map(|path| place.path.join(path));
    for path in all.chain([place.path.clone()]) {
        if let Ok(spot) = roots.resolve_in_root(&place.root, &path) {
            let _ = remove(&spot);
        }
    }
}

/// Copies the content of the folder `from` into the new empty folder `to`; returns a snapshot of
/// each copy.
pub(super) fn copy_into(
    roots: &Roots,
    from: &RootedPath,
    items: &[(PathBuf, NodeKind)],
    to: &RootedPath,
    cancel: &CancellationToken,
) -> Result<Vec<(PathBuf, Snapshot)>, FsErrorKind> {
    items
        .iter()
        .map(|(path, _)| {
            let source = roots.resolve_in_root(&from.root, &from.path.join(path))?;
            let target = roots.resolve_in_root(&to.root, &to.path.join(path))?;
            Ok((path.clone(), copy_one(&source, &target, cancel)?))
        })
        .collect()
}

/// Copies one entry: a file with its content, a folder without it, a link as a link.
fn copy_one(
    from: &ResolvedPath,
    to: &ResolvedPath,
    cancel: &CancellationToken,
) -> Result<Snapshot, FsErrorKind> {
    match from.node {
        Some(NodeKind::File) => {
            let (temp, copied) = copy_file(from, to, cancel)?;
            temp.commit(to.name(), false)?;
            Ok(copied)
        }
        Some(NodeKind::Dir) => {
            let mode = mode_of(&from.stat()?);
            rustix::fs::mkdirat(to.dir(), to.name(), Mode::from_raw_mode(mode | 0o700))?;
            Ok(Snapshot::Dir { mode })
        }
        Some(NodeKind::Link) => {
            let target = link_text(from)?;
            rustix::fs::symlinkat(&target, to.dir(), to.name())?;
            Ok(Snapshot::Link { target })
        }
        Some(NodeKind::Special(what)) => Err(FsErrorKind::Special(what)),
        None => Err(FsErrorKind::Changed),
    }
}

/// Copies a file with its mode to a temporary file beside its target.
pub(super) fn copy_file<'a>(
    from: &ResolvedPath,
    to: &'a ResolvedPath,
    cancel: &CancellationToken,
) -> Result<(TempFile<'a>, Snapshot), FsErrorKind> {
    use std::io::Write as _;
    let (file, stat) = bounded_read::open_regular_file(from)?;
    let mut temp = TempFile::create(to, None)?;
    let sha256 = snapshot::hash(file, cancel, &mut |piece| Ok(temp.file.write_all(piece)?))?;
    let mode = mode_of(&stat);
    rustix::fs::fchmod(&temp.file, Mode::from_raw_mode(mode))?;
    temp.file.sync_data()?;
    Ok((temp, Snapshot::File { sha256, mode }))
}

/// Returns whether one real path equals the other or lies in it.
pub(super) fn overlap(a: &RootedPath, b: &Path, b_root: &Path) -> bool {
    let (a, b) = (a.root.join(&a.path), b_root.join(b));
    a.starts_with(&b) || b.starts_with(&a)
}
