//! A folder with everything in it: looked at for a change, copied, removed. Bounded, and no link is followed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use toolcrib_core::CancellationToken;

use super::beneath::{Node, Spot};
use super::error::Fault;
use super::read;
use super::roots::Roots;
use super::snapshot::{self, Place, Snapshot, link_text, mode_of};
use super::walk::{Limits, Next, walk};
use super::write::Temp;

/// Most entries of a folder that one change takes.
const MAX_ENTRIES: usize = 10_000;
/// Bounds of a change of a folder.
const LIMITS: Limits = Limits { entries: MAX_ENTRIES, depth: 64, time: Duration::from_secs(8) };

/// Everything below the folder at a spot, a folder before what is in it. All of it, or a fault: a change of a part would surprise.
pub(super) fn entries(
    roots: &Roots,
    spot: &Spot,
    cancel: &CancellationToken,
) -> Result<Vec<(PathBuf, Node)>, Fault> {
    let mut found = Vec::new();
    let report = walk(roots, spot, LIMITS, cancel, |item| {
        found.push((item.path.to_owned(), item.node));
        Ok(Next::Enter)
    })?;
    if report.barred > 0 {
        return Err(Fault::Outside);
    }
    if report.unreadable > 0 {
        // A folder without the right to read it, or a mount point; both belong to somebody else.
        return Err(Fault::Os(Errno::ACCESS));
    }
    if !report.is_complete() {
        return Err(Fault::TooLarge(format!(
            "the folder has more than {MAX_ENTRIES} entries, or more than 64 levels. Work on its parts one by one."
        )));
    }
    Ok(found)
}

/// Removes what stands at a spot: a link itself, a folder only when it is empty.
pub(super) fn remove(spot: &Spot) -> Result<(), Fault> {
    let flags = if spot.node == Some(Node::Dir) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    rustix::fs::unlinkat(spot.dir(), spot.name(), flags).map_err(super::write::read_only)
}

/// Removes a tree that was just made; what cannot be removed stays.
pub(super) fn discard(roots: &Roots, place: &Place, created: &[PathBuf]) {
    let all = created.iter().rev().map(|path| place.path.join(path));
    for path in all.chain([place.path.clone()]) {
        if let Ok(spot) = roots.resolve_kept(&place.root, &path) {
            let _ = remove(&spot);
        }
    }
}

/// Copies what is in the folder at `from` into the new empty folder at `to`, and tells what each copy is.
pub(super) fn copy_into(
    roots: &Roots,
    from: &Place,
    items: &[(PathBuf, Node)],
    to: &Place,
    cancel: &CancellationToken,
) -> Result<Vec<(PathBuf, Snapshot)>, Fault> {
    items
        .iter()
        .map(|(path, _)| {
            let source = roots.resolve_kept(&from.root, &from.path.join(path))?;
            let target = roots.resolve_kept(&to.root, &to.path.join(path))?;
            Ok((path.clone(), copy_one(&source, &target, cancel)?))
        })
        .collect()
}

/// Copies one entry: a file with its content, a folder without, a link as a link.
fn copy_one(from: &Spot, to: &Spot, cancel: &CancellationToken) -> Result<Snapshot, Fault> {
    match from.node {
        Some(Node::File) => {
            let (temp, copied) = copy_file(from, to, cancel)?;
            temp.commit(to.name(), false)?;
            Ok(copied)
        }
        Some(Node::Dir) => {
            let mode = mode_of(&from.stat()?);
            rustix::fs::mkdirat(to.dir(), to.name(), Mode::from_raw_mode(mode | 0o700))?;
            Ok(Snapshot::Dir { mode })
        }
        Some(Node::Link) => {
            let target = link_text(from)?;
            rustix::fs::symlinkat(&target, to.dir(), to.name())?;
            Ok(Snapshot::Link { target })
        }
        Some(Node::Special(what)) => Err(Fault::Special(what)),
        None => Err(Fault::Changed),
    }
}

/// Copies a file beside its target, not yet under its name, with its mode.
pub(super) fn copy_file<'a>(
    from: &Spot,
    to: &'a Spot,
    cancel: &CancellationToken,
) -> Result<(Temp<'a>, Snapshot), Fault> {
    use std::io::Write as _;
    let (file, stat) = read::open_at(from)?;
    let mut temp = Temp::create(to, None)?;
    let sha256 = snapshot::hash(file, cancel, &mut |piece| Ok(temp.file.write_all(piece)?))?;
    let mode = mode_of(&stat);
    rustix::fs::fchmod(&temp.file, Mode::from_raw_mode(mode))?;
    temp.file.sync_data()?;
    Ok((temp, Snapshot::File { sha256, mode }))
}

/// Whether one real path is the other, or lies in it.
pub(super) fn overlap(a: &Place, b: &Path, b_root: &Path) -> bool {
    let (a, b) = (a.root.join(&a.path), b_root.join(b));
    a.starts_with(&b) || b.starts_with(&a)
}
