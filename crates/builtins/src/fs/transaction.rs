//! One change of a workspace in progress: the former contents that it stores, the journal steps
//! that it plans, and the change itself.

use std::path::PathBuf;
use std::sync::MutexGuard;

use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use toolcrib_core::{CancellationToken, PathAccess};

use super::atomic_write::{self, TempFile, check_writable};
use super::bounded_read;
use super::dir_tree;
use super::error::FsErrorKind;
use super::former_content::FormerContent;
use super::resolve::{LinkPolicy, NodeKind, ResolvedPath};
use super::roots::Roots;
use super::snapshot::{RootedPath, Snapshot, mode_of};
use super::undo_journal::{ChangeOrigin, ENTRY_BYTES, JournalLock, Step};
use super::workspace::ChangeReport;
use crate::executed_files;

/// Holds the workspace lock and the planned journal entry of a change.
pub(super) struct Transaction<'a> {
    pub(super) roots: &'a Roots,
    ledger: Option<JournalLock<'a>>,
    cancel: &'a CancellationToken,
    steps: Vec<Step>,
    former: FormerContent,
    made_by: Option<ChangeOrigin>,
    _gate: MutexGuard<'a, ()>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(
        roots: &'a Roots,
        ledger: Option<JournalLock<'a>>,
        cancel: &'a CancellationToken,
        made_by: Option<ChangeOrigin>,
        gate: MutexGuard<'a, ()>,
    ) -> Self {
        let former = FormerContent::default();
        Self { roots, ledger, cancel, steps: Vec::new(), former, made_by, _gate: gate }
    }

    /// Resolves the target of a write: an existing, writable regular file, or a missing one.
    pub(super) fn file(&self, path: &str, last: LinkPolicy) -> Result<ResolvedPath, FsErrorKind> {
        let spot = self.roots.resolve(path, last).map_err(|e| e.fault)?;
        self.roots.denials().check(PathAccess::Edit, &spot)?;
        match spot.node {
            Some(NodeKind::Dir) => return Err(FsErrorKind::IsDir),
            Some(NodeKind::Special(what)) => return Err(FsErrorKind::Special(what)),
            Some(NodeKind::Link) => return Err(FsErrorKind::Changed),
            Some(NodeKind::File) => check_writable(&spot, Some(&spot.stat()?))?,
            None if path.ends_with('/') => return Err(FsErrorKind::IsDir),
            None => check_writable(&spot, None)?,
        }
        self.check_executed(path, &spot)?;
        Ok(spot)
    }

    /// Refuses a change of a file that another program executes, unless the path itself names that
    /// file.
    pub(super) fn check_executed(
        &self,
        path: &str,
        spot: &ResolvedPath,
    ) -> Result<(), FsErrorKind> {
        executed_files::check_change(self.roots, path, &spot.root.path.join(&spot.real))
    }

    /// Stores the current state of a path; returns the snapshot, unless the content is too large,
    /// and the status.
    pub(super) fn snapshot_before(
        &mut self,
        spot: &ResolvedPath,
    ) -> Result<(Option<Snapshot>, Stat), FsErrorKind> {
        self.former.keep_state(self.ledger.as_ref(), spot)
    }

    /// Stores content that is in memory already.
    pub(super) fn store_content(
        &mut self,
        content: &[u8],
        stat: &Stat,
    ) -> Result<Option<Snapshot>, FsErrorKind> {
        Ok(self.former.keep(self.ledger.as_ref(), content, stat)?)
    }

    /// Plans the replacement of a file; records no step if its former content was not stored.
    pub(super) fn plan_replaced(
        &mut self,
        place: RootedPath,
        before: Option<&Snapshot>,
        after: Snapshot,
    ) {
        let before = before.cloned();
        self.steps.extend(before.map(|before| Step::Replaced { place, before, after }));
    }

    pub(super) fn plan_created(&mut self, place: RootedPath, after: Snapshot) {
        self.steps.push(Step::Created { place, after, parent: false });
    }

    /// Plans a file that is created, or that replaces the one of `before`. A former file whose
    /// content was not stored has no step.
    fn plan_file(
        &mut self,
        place: RootedPath,
        before: Option<&(Option<Snapshot>, Stat)>,
        after: Snapshot,
    ) {
        match before {
            None => self.plan_created(place, after),
            Some((Some(former), _)) => {
                self.steps.push(Step::Replaced { place, before: former.clone(), after });
            }
            Some((None, _)) => {}
        }
    }

    /// Plans the missing folders above a path.
    pub(super) fn plan_parents(&mut self, spot: &ResolvedPath) -> Vec<RootedPath> {
        self.plan_other_parents(spot, &[])
    }

    /// Same as [`Self::plan_parents`], without folders that are planned already.
    pub(super) fn plan_other_parents(
        &mut self,
        spot: &ResolvedPath,
        planned: &[RootedPath],
    ) -> Vec<RootedPath> {
        let place = RootedPath::from_resolved(spot);
        let missing = spot.missing_dirs().into_iter().map(|path| place.sibling(path));
        let parents: Vec<_> = missing.filter(|place| !planned.contains(place)).collect();
        self.steps.extend(parents.iter().map(|place| Step::Created {
            place: place.clone(),
            after: Snapshot::Dir { mode: 0o777 },
            parent: true,
        }));
        parents
    }

    /// Stores a former content for the steps of a change that was already made.
    pub(super) fn keep_former(&self, sha256: &str, content: &[u8]) -> Result<(), FsErrorKind> {
        Ok(self.ledger.iter().try_for_each(|ledger| ledger.store_blob(sha256, content))?)
    }

    /// Records a change that was already made.
    pub(super) fn record_made(
        &self,
        summary: String,
        steps: Vec<Step>,
        not_undoable: Option<String>,
    ) -> Result<(), FsErrorKind> {
        if let Some(ledger) = &self.ledger {
            ledger.record(summary, self.made_by.clone(), steps, not_undoable)?;
        }
        Ok(())
    }

    pub(super) fn unchanged_report(&self, spot: &ResolvedPath) -> ChangeReport {
        ChangeReport { path: spot.display(), not_undoable: None, entries: 0 }
    }

    /// Records the planned steps, then makes the change. A failed change leaves no entry and no new
    /// folders.
    pub(super) fn commit(
        self,
        summary: String,
        path: String,
        parents: Vec<RootedPath>,
        apply: impl FnOnce() -> Result<(), FsErrorKind>,
    ) -> Result<ChangeReport, FsErrorKind> {
        let entries = self.steps.len();
        let lost = self.former.lost().cloned();
        let steps = if lost.is_some() { Vec::new() } else { self.steps };
        let id = match &self.ledger {
            Some(ledger) => {
                Some((ledger, ledger.record(summary, self.made_by, steps, lost.clone())?))
            }
            None => None,
        };
        if let Err(fault) = apply() {
            for place in parents.iter().rev() {
                if let Ok(spot) = self.roots.resolve_in_root(&place.root, &place.path) {
                    let _ = dir_tree::remove(&spot);
                }
            }
            if let Some((ledger, id)) = id {
                ledger.forget(id)?;
            }
            return Err(fault);
        }
        let not_undoable = lost.filter(|_| id.is_some());
        Ok(ChangeReport { path, not_undoable, entries })
    }

    /// Replaces the file atomically, if it is still in the state `before`.
    pub(super) fn put(
        mut self,
        mut spot: ResolvedPath,
        before: Option<(Option<Snapshot>, Stat)>,
        content: &[u8],
        summary: String,
    ) -> Result<ChangeReport, FsErrorKind> {
        let parents = self.plan_parents(&spot);
        let mode = before.as_ref().map_or(0o644, |(_, stat)| mode_of(stat));
        let after = Snapshot::file(content, mode);
        let place = RootedPath::from_resolved(&spot);
        self.plan_file(place, before.as_ref(), after);
        let stat = before.map(|(_, stat)| stat);
        let shown = spot.display();
        self.commit(summary, shown, parents, || {
            spot.make_parents()?;
            let temp = TempFile::create(&spot, stat.as_ref())?.fill(content)?;
            check_unchanged(&spot, stat.as_ref())?;
            temp.commit(spot.name(), stat.is_some())
        })
    }

    pub(super) fn append(
        mut self,
        spot: &ResolvedPath,
        content: &[u8],
        summary: String,
    ) -> Result<ChangeReport, FsErrorKind> {
        use std::io::Write as _;
        let (mut file, stat) = spot.open_file(OFlags::WRONLY | OFlags::APPEND)?;
        if stat.st_nlink > 1 {
            #[expect(clippy::useless_conversion, reason = "the width differs between systems")]
            return Err(FsErrorKind::HardLinks(u64::from(stat.st_nlink)));
        }
        match bounded_read::read_bounded(spot, ENTRY_BYTES) {
            Ok((mut old, old_stat)) => {
                let former = self.store_content(&old, &old_stat)?;
                old.extend_from_slice(content);
                let after = Snapshot::file(&old, mode_of(&stat));
                let place = RootedPath::from_resolved(spot);
                self.steps.extend(former.map(|before| Step::Replaced { place, before, after }));
            }
            Err(FsErrorKind::TooLarge(_)) => self.former.mark_lost(),
            Err(fault) => return Err(fault),
        }
        self.commit(summary, spot.display(), Vec::new(), || {
            let written = file.write_all(content).and_then(|()| file.sync_data());
            written.map_err(|error| {
                // After a failed append, such as on a full disk, no partial line may remain.
                let _ = file.set_len(bounded_read::size(&stat));
                error.into()
            })
        })
    }

    /// Refuses an existing target, unless it is a file that may be replaced.
    fn check_target(&self, target: &ResolvedPath, overwrite: bool) -> Result<(), FsErrorKind> {
        match target.node {
            None => check_writable(target, None),
            Some(NodeKind::File) if overwrite => check_writable(target, Some(&target.stat()?)),
            Some(NodeKind::Link) if overwrite => check_writable(target, None),
            Some(_) => Err(FsErrorKind::Exists),
        }
    }

    pub(super) fn copy_file(
        mut self,
        source: &ResolvedPath,
        mut target: ResolvedPath,
        overwrite: bool,
        summary: String,
    ) -> Result<ChangeReport, FsErrorKind> {
        if dir_tree::overlap(&RootedPath::from_resolved(source), &target.real, &target.root.path) {
            return Err(FsErrorKind::Overlap);
        }
        self.check_target(&target, overwrite)?;
        let cancel = self.cancel;
        let former = target.node.map(|_| self.snapshot_before(&target)).transpose()?;
        let parents = self.plan_parents(&target);
        target.make_parents()?;
        let shown = target.display();
        let (temp, after) = dir_tree::copy_file(source, &target, cancel)
            .inspect_err(|_| self.discard_parents(&parents))?;
        let place = RootedPath::from_resolved(&target);
        self.plan_file(place, former.as_ref(), after);
        let stat = former.map(|(_, stat)| stat);
        self.commit(summary, shown, parents, || {
            check_unchanged(&target, stat.as_ref())?;
            temp.commit(target.name(), stat.is_some())
        })
    }

    fn discard_parents(&self, parents: &[RootedPath]) {
        for place in parents.iter().rev() {
            dir_tree::discard_created(self.roots, place, &[]);
        }
    }

    /// Copies a folder under a temporary name beside its target, then renames it, so that the
    /// target appears complete or not at all.
    pub(super) fn copy_dir(
        mut self,
        source: &ResolvedPath,
        mut target: ResolvedPath,
        summary: String,
    ) -> Result<ChangeReport, FsErrorKind> {
        let from = RootedPath::from_resolved(source);
        if dir_tree::overlap(&from, &target.real, &target.root.path) {
            return Err(FsErrorKind::Overlap);
        }
        if target.node.is_some() {
            return Err(FsErrorKind::Exists);
        }
        check_writable(&target, None)?;
        let items = dir_tree::entries(self.roots, source, self.cancel)?;
        let parents = self.plan_parents(&target);
        target.make_parents()?;
        let temp_name = atomic_write::temp_name();
        let temp =
            RootedPath::from_resolved(&target).sibling(target.real.with_file_name(&temp_name));
        let mode = mode_of(&source.stat()?);
        rustix::fs::mkdirat(target.dir(), &temp_name, Mode::from_raw_mode(mode | 0o700))
            .map_err(atomic_write::read_only)
            .inspect_err(|_| self.discard_parents(&parents))?;
        let paths: Vec<PathBuf> = items.iter().map(|(path, _)| path.clone()).collect();
        let copied = dir_tree::copy_into(self.roots, &from, &items, &temp, self.cancel);
        let copies = copied.inspect_err(|_| {
            dir_tree::discard_created(self.roots, &temp, &paths);
            self.discard_parents(&parents);
        })?;
        let place = RootedPath::from_resolved(&target);
        self.plan_created(place.clone(), Snapshot::Dir { mode });
        for (path, after) in copies {
            self.plan_created(place.sibling(place.path.join(path)), after);
        }
        let roots = self.roots;
        let shown = target.display();
        self.commit(summary, shown, parents, || {
            atomic_write::rename(target.dir(), &temp_name, target.dir(), target.name(), false)
                .inspect_err(|_| dir_tree::discard_created(roots, &temp, &paths))
        })
    }

    pub(super) fn rename(
        mut self,
        source: &ResolvedPath,
        mut target: ResolvedPath,
        overwrite: bool,
        summary: String,
    ) -> Result<ChangeReport, FsErrorKind> {
        let (from, to) = (RootedPath::from_resolved(source), RootedPath::from_resolved(&target));
        if dir_tree::overlap(&from, &target.real, &target.root.path) {
            return Err(FsErrorKind::Overlap);
        }
        self.check_target(&target, overwrite)?;
        if source.node == Some(NodeKind::Dir) {
            if target.node.is_some() {
                return Err(FsErrorKind::Exists);
            }
            // The walk refuses a folder that contains Toolcrib's own state.
            dir_tree::entries(self.roots, source, self.cancel)?;
        }
        let former = target.node.map(|_| self.snapshot_before(&target)).transpose()?;
        let parents = self.plan_parents(&target);
        let (ino, dev) = (source.stat()?.st_ino, source.stat()?.st_dev);
        if former.as_ref().is_some_and(|(_, stat)| (stat.st_ino, stat.st_dev) == (ino, dev)) {
            // Both names are hard links of one file: `rename` would succeed and leave both.
            return Err(FsErrorKind::Overlap);
        }
        let replaced = former.as_ref().and_then(|(before, _)| before.clone());
        let moved = moved_content(source, self.cancel)?;
        self.steps.push(Step::Moved { from, to, ino, moved, replaced });
        let shown = target.display();
        let stat = former.map(|(_, stat)| stat);
        self.commit(summary, shown, parents, || {
            target.make_parents()?;
            check_unchanged(&target, stat.as_ref())?;
            let (from, to) = (source.dir(), target.dir());
            atomic_write::rename(from, source.name(), to, target.name(), stat.is_some())
        })
    }

    pub(super) fn delete(
        mut self,
        spot: &ResolvedPath,
        recursive: bool,
        summary: String,
    ) -> Result<ChangeReport, FsErrorKind> {
        let place = RootedPath::from_resolved(spot);
        let mut doomed = vec![place.clone()];
        if spot.node == Some(NodeKind::Dir) {
            let items = dir_tree::entries(self.roots, spot, self.cancel)?;
            if !recursive && !items.is_empty() {
                return Err(FsErrorKind::NotEmpty);
            }
            doomed.extend(items.iter().map(|(path, _)| place.sibling(place.path.join(path))));
        }
        let many = doomed.len() > 1;
        // A folder is removed after its content.
        for place in doomed.iter().rev() {
            let spot = self.roots.resolve_in_root(&place.root, &place.path)?;
            let (before, _) = self.snapshot_before(&spot)?;
            let place = place.clone();
            self.steps.extend(before.map(|before| Step::Removed { place, before }));
        }
        if many && self.former.lost().is_some() {
            return Err(FsErrorKind::TooLarge(format!(
                "the folder holds more than {} MB, so deleting it could not be undone. Delete its parts one by one.",
                ENTRY_BYTES / (1024 * 1024)
            )));
        }
        let (roots, cancel) = (self.roots, self.cancel);
        let entries = doomed.len();
        let mut removed = 0;
        let shown = spot.display();
        let remove_all = || {
            for place in doomed.iter().rev() {
                if cancel.is_cancelled() && removed == 0 {
                    return Err(FsErrorKind::Cancelled);
                }
                dir_tree::remove(&roots.resolve_in_root(&place.root, &place.path)?)?;
                removed += 1;
            }
            Ok(())
        };
        self.commit_partial(summary, shown, remove_all)
            .map(|changed| ChangeReport { entries, ..changed })
    }

    /// Same as [`Transaction::commit`], but keeps the entry when the change fails, since a part of
    /// the change may have been made.
    fn commit_partial(
        self,
        summary: String,
        path: String,
        apply: impl FnOnce() -> Result<(), FsErrorKind>,
    ) -> Result<ChangeReport, FsErrorKind> {
        let mut failed = None;
        let keep_entry = || {
            failed = apply().err();
            Ok(())
        };
        let changed = self.commit(summary, path, Vec::new(), keep_entry)?;
        failed.map_or(Ok(changed), Err)
    }
}

/// Returns the content or target that identifies a moved file or link after its inode has changed:
/// an edit replaces a file by a new one. `None` for folders, and for files too large to be read for
/// this purpose.
fn moved_content(
    source: &ResolvedPath,
    cancel: &CancellationToken,
) -> Result<Option<Snapshot>, FsErrorKind> {
    let is_small = bounded_read::size(&source.stat()?) <= ENTRY_BYTES;
    match source.node {
        Some(NodeKind::File) if is_small => Snapshot::capture(source, cancel),
        Some(NodeKind::Link) => Snapshot::capture(source, cancel),
        _ => Ok(None),
    }
}

/// Fails if the file has changed since `before`; `None` means it did not exist.
pub(super) fn check_unchanged(
    spot: &ResolvedPath,
    before: Option<&Stat>,
) -> Result<(), FsErrorKind> {
    let now = rustix::fs::statat(spot.dir(), spot.name(), AtFlags::SYMLINK_NOFOLLOW);
    match (before, now) {
        (None, Err(rustix::io::Errno::NOENT)) => Ok(()),
        (Some(before), Ok(now)) if atomic_write::is_same(before, &now) => Ok(()),
        _ => Err(FsErrorKind::Changed),
    }
}
