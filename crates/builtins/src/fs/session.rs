//! One change on its way: what it keeps of former contents, what it will record, and how it is made.

use std::path::PathBuf;
use std::sync::MutexGuard;

use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use toolcrib_core::CancellationToken;

use super::beneath::{Last, Node, Spot};
use super::change::Changed;
use super::error::Fault;
use super::journal::{ENTRY_BYTES, Locked, Step};
use super::read;
use super::roots::Roots;
use super::snapshot::{Place, Snapshot, link_text, mode_of};
use super::tree;
use super::write::{self, Temp, check_writable};

/// The right to change the workspace, and what the change will record.
pub(super) struct Session<'a> {
    pub(super) roots: &'a Roots,
    ledger: Option<Locked<'a>>,
    cancel: &'a CancellationToken,
    steps: Vec<Step>,
    /// Bytes of former content kept so far.
    kept: u64,
    lost: Option<String>,
    _gate: MutexGuard<'a, ()>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        roots: &'a Roots,
        ledger: Option<Locked<'a>>,
        cancel: &'a CancellationToken,
        gate: MutexGuard<'a, ()>,
    ) -> Self {
        Self { roots, ledger, cancel, steps: Vec::new(), kept: 0, lost: None, _gate: gate }
    }

    /// The place of a file: an existing plain one that may be written, or nothing yet.
    pub(super) fn file(&self, path: &str, last: Last) -> Result<Spot, Fault> {
        let spot = self.roots.resolve(path, last).map_err(|e| e.fault)?;
        match spot.node {
            Some(Node::Dir) => return Err(Fault::IsDir),
            Some(Node::Special(what)) => return Err(Fault::Special(what)),
            Some(Node::Link) => return Err(Fault::Changed),
            Some(Node::File) => check_writable(&spot, Some(&spot.stat()?))?,
            None if path.ends_with('/') => return Err(Fault::IsDir),
            None => check_writable(&spot, None)?,
        }
        Ok(spot)
    }

    /// Keeps what stands at a spot: the snapshot, unless it is too large, and its status.
    pub(super) fn former(&mut self, spot: &Spot) -> Result<(Option<Snapshot>, Stat), Fault> {
        match spot.node {
            Some(Node::File) => {}
            Some(Node::Link) => {
                return Ok((Some(Snapshot::Link { target: link_text(spot)? }), spot.stat()?));
            }
            Some(Node::Dir) => {
                let stat = spot.stat()?;
                return Ok((Some(Snapshot::Dir { mode: mode_of(&stat) }), stat));
            }
            Some(Node::Special(what)) => return Err(Fault::Special(what)),
            None => return Err(Fault::Changed),
        }
        match read::all(spot, ENTRY_BYTES.saturating_sub(self.kept)) {
            Ok((content, stat)) => Ok((self.keep(&content, &stat)?, stat)),
            Err(Fault::TooLarge(_)) => {
                self.lose();
                Ok((None, spot.stat()?))
            }
            Err(fault) => Err(fault),
        }
    }

    fn lose(&mut self) {
        self.lost = Some(format!(
            "the former content is larger than {} MB, which is not kept",
            ENTRY_BYTES / (1024 * 1024)
        ));
    }

    /// Keeps a content that is in memory already.
    pub(super) fn keep(&mut self, content: &[u8], stat: &Stat) -> Result<Option<Snapshot>, Fault> {
        let snapshot = Snapshot::file(content, mode_of(stat));
        self.kept += content.len() as u64;
        if self.kept > ENTRY_BYTES {
            self.lose();
            return Ok(None);
        }
        if let (Some(ledger), Snapshot::File { sha256, .. }) = (&self.ledger, &snapshot) {
            ledger.keep(sha256, content)?;
        }
        Ok(Some(snapshot))
    }

    /// Plans that a file is replaced; nothing when its former content is not kept.
    pub(super) fn replaced(&mut self, place: Place, before: Option<&Snapshot>, after: Snapshot) {
        let before = before.cloned();
        self.steps.extend(before.map(|before| Step::Replaced { place, before, after }));
    }

    pub(super) fn created(&mut self, place: Place, after: Snapshot) {
        self.steps.push(Step::Created { place, after, parent: false });
    }

    /// Plans the folders that are missing above a spot.
    pub(super) fn parents(&mut self, spot: &Spot) -> Vec<Place> {
        self.parents_but(spot, &[])
    }

    /// The same without those that are planned already.
    pub(super) fn parents_but(&mut self, spot: &Spot, planned: &[Place]) -> Vec<Place> {
        let place = Place::of(spot);
        let missing = spot.missing_dirs().into_iter().map(|path| place.sibling(path));
        let parents: Vec<_> = missing.filter(|place| !planned.contains(place)).collect();
        self.steps.extend(parents.iter().map(|place| Step::Created {
            place: place.clone(),
            after: Snapshot::Dir { mode: 0o777 },
            parent: true,
        }));
        parents
    }

    pub(super) fn nothing(&self, spot: &Spot) -> Changed {
        Changed { path: spot.display(), not_undoable: None, entries: 0 }
    }

    /// Records the planned steps, then makes the change. A change that fails leaves no entry and no new folders.
    pub(super) fn commit(
        self,
        summary: String,
        path: String,
        parents: Vec<Place>,
        apply: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Changed, Fault> {
        let entries = self.steps.len();
        let steps = if self.lost.is_some() { Vec::new() } else { self.steps };
        let id = match &self.ledger {
            Some(ledger) => Some((ledger, ledger.record(summary, steps, self.lost.clone())?)),
            None => None,
        };
        if let Err(fault) = apply() {
            for place in parents.iter().rev() {
                if let Ok(spot) = self.roots.resolve_kept(&place.root, &place.path) {
                    let _ = tree::remove(&spot);
                }
            }
            if let Some((ledger, id)) = id {
                ledger.forget(id)?;
            }
            return Err(fault);
        }
        let not_undoable = self.lost.filter(|_| id.is_some());
        Ok(Changed { path, not_undoable, entries })
    }

    /// Puts a whole content in place, in place of what `before` says stands there.
    pub(super) fn put(
        mut self,
        mut spot: Spot,
        before: Option<(Option<Snapshot>, Stat)>,
        content: &[u8],
        summary: String,
    ) -> Result<Changed, Fault> {
        let parents = self.parents(&spot);
        let mode = before.as_ref().map_or(0o644, |(_, stat)| mode_of(stat));
        let after = Snapshot::file(content, mode);
        let place = Place::of(&spot);
        match &before {
            None => self.created(place, after),
            Some((Some(former), _)) => {
                self.steps.push(Step::Replaced { place, before: former.clone(), after });
            }
            Some((None, _)) => {}
        }
        let stat = before.map(|(_, stat)| stat);
        let shown = spot.display();
        self.commit(summary, shown, parents, || {
            spot.make_parents()?;
            let temp = Temp::create(&spot, stat.as_ref())?.fill(content)?;
            check_unchanged(&spot, stat.as_ref())?;
            temp.commit(spot.name(), stat.is_some())
        })
    }

    pub(super) fn append(
        mut self,
        spot: &Spot,
        content: &[u8],
        summary: String,
    ) -> Result<Changed, Fault> {
        use std::io::Write as _;
        let (mut file, stat) = spot.open_file(OFlags::WRONLY | OFlags::APPEND)?;
        if stat.st_nlink > 1 {
            #[expect(clippy::useless_conversion, reason = "the width differs between systems")]
            return Err(Fault::HardLinks(u64::from(stat.st_nlink)));
        }
        match read::all(spot, ENTRY_BYTES) {
            Ok((mut old, old_stat)) => {
                let former = self.keep(&old, &old_stat)?;
                old.extend_from_slice(content);
                let after = Snapshot::file(&old, mode_of(&stat));
                let place = Place::of(spot);
                self.steps.extend(former.map(|before| Step::Replaced { place, before, after }));
            }
            Err(Fault::TooLarge(_)) => self.lose(),
            Err(fault) => return Err(fault),
        }
        self.commit(summary, spot.display(), Vec::new(), || {
            let written = file.write_all(content).and_then(|()| file.sync_data());
            written.map_err(|error| {
                // A full disk leaves no half line.
                let _ = file.set_len(read::size(&stat));
                error.into()
            })
        })
    }

    /// Refuses a target that is there, unless it is a file that may be replaced.
    fn check_target(&self, target: &Spot, overwrite: bool) -> Result<(), Fault> {
        match target.node {
            None => check_writable(target, None),
            Some(Node::File) if overwrite => check_writable(target, Some(&target.stat()?)),
            Some(Node::Link) if overwrite => check_writable(target, None),
            Some(_) => Err(Fault::Exists),
        }
    }

    pub(super) fn copy_file(
        mut self,
        source: &Spot,
        mut target: Spot,
        overwrite: bool,
        summary: String,
    ) -> Result<Changed, Fault> {
        if tree::overlap(&Place::of(source), &target.real, &target.root.path) {
            return Err(Fault::Overlap);
        }
        self.check_target(&target, overwrite)?;
        let cancel = self.cancel;
        let former = target.node.map(|_| self.former(&target)).transpose()?;
        let parents = self.parents(&target);
        target.make_parents()?;
        let shown = target.display();
        let (temp, after) = tree::copy_file(source, &target, cancel)
            .inspect_err(|_| self.discard_parents(&parents))?;
        let place = Place::of(&target);
        match &former {
            None => self.created(place, after),
            Some((Some(before), _)) => {
                self.steps.push(Step::Replaced { place, before: before.clone(), after });
            }
            Some((None, _)) => {}
        }
        let stat = former.map(|(_, stat)| stat);
        self.commit(summary, shown, parents, || {
            check_unchanged(&target, stat.as_ref())?;
            temp.commit(target.name(), stat.is_some())
        })
    }

    fn discard_parents(&self, parents: &[Place]) {
        for place in parents.iter().rev() {
            tree::discard(self.roots, place, &[]);
        }
    }

    /// Copies a folder beside its target under a name of its own, then renames it: the target appears whole or not at all.
    pub(super) fn copy_dir(
        mut self,
        source: &Spot,
        mut target: Spot,
        summary: String,
    ) -> Result<Changed, Fault> {
        let from = Place::of(source);
        if tree::overlap(&from, &target.real, &target.root.path) {
            return Err(Fault::Overlap);
        }
        if target.node.is_some() {
            return Err(Fault::Exists);
        }
        check_writable(&target, None)?;
        let items = tree::entries(self.roots, source, self.cancel)?;
        let parents = self.parents(&target);
        target.make_parents()?;
        let temp_name = write::temp_name();
        let temp = Place::of(&target).sibling(target.real.with_file_name(&temp_name));
        let mode = mode_of(&source.stat()?);
        rustix::fs::mkdirat(target.dir(), &temp_name, Mode::from_raw_mode(mode | 0o700))
            .map_err(write::read_only)
            .inspect_err(|_| self.discard_parents(&parents))?;
        let paths: Vec<PathBuf> = items.iter().map(|(path, _)| path.clone()).collect();
        let copied = tree::copy_into(self.roots, &from, &items, &temp, self.cancel);
        let copies = copied.inspect_err(|_| {
            tree::discard(self.roots, &temp, &paths);
            self.discard_parents(&parents);
        })?;
        let place = Place::of(&target);
        self.created(place.clone(), Snapshot::Dir { mode });
        for (path, after) in copies {
            self.created(place.sibling(place.path.join(path)), after);
        }
        let roots = self.roots;
        let shown = target.display();
        self.commit(summary, shown, parents, || {
            write::rename(target.dir(), &temp_name, target.dir(), target.name(), false)
                .inspect_err(|_| tree::discard(roots, &temp, &paths))
        })
    }

    pub(super) fn rename(
        mut self,
        source: &Spot,
        mut target: Spot,
        overwrite: bool,
        summary: String,
    ) -> Result<Changed, Fault> {
        let (from, to) = (Place::of(source), Place::of(&target));
        if tree::overlap(&from, &target.real, &target.root.path) {
            return Err(Fault::Overlap);
        }
        self.check_target(&target, overwrite)?;
        if source.node == Some(Node::Dir) {
            if target.node.is_some() {
                return Err(Fault::Exists);
            }
            // Refuses a folder that holds Toolcrib's own state.
            tree::entries(self.roots, source, self.cancel)?;
        }
        let former = target.node.map(|_| self.former(&target)).transpose()?;
        let parents = self.parents(&target);
        let (ino, dev) = (source.stat()?.st_ino, source.stat()?.st_dev);
        if former.as_ref().is_some_and(|(_, stat)| (stat.st_ino, stat.st_dev) == (ino, dev)) {
            // Two names of one file: the system would leave both.
            return Err(Fault::Overlap);
        }
        let replaced = former.as_ref().and_then(|(before, _)| before.clone());
        self.steps.push(Step::Moved { from, to, ino, replaced });
        let shown = target.display();
        let stat = former.map(|(_, stat)| stat);
        self.commit(summary, shown, parents, || {
            target.make_parents()?;
            check_unchanged(&target, stat.as_ref())?;
            let (from, to) = (source.dir(), target.dir());
            write::rename(from, source.name(), to, target.name(), stat.is_some())
        })
    }

    pub(super) fn delete(
        mut self,
        spot: &Spot,
        recursive: bool,
        summary: String,
    ) -> Result<Changed, Fault> {
        let place = Place::of(spot);
        let mut doomed = vec![place.clone()];
        if spot.node == Some(Node::Dir) {
            let items = tree::entries(self.roots, spot, self.cancel)?;
            if !recursive && !items.is_empty() {
                return Err(Fault::NotEmpty);
            }
            doomed.extend(items.iter().map(|(path, _)| place.sibling(place.path.join(path))));
        }
        let many = doomed.len() > 1;
        // What is in a folder goes before the folder.
        for place in doomed.iter().rev() {
            let spot = self.roots.resolve_kept(&place.root, &place.path)?;
            let (before, _) = self.former(&spot)?;
            let place = place.clone();
            self.steps.extend(before.map(|before| Step::Removed { place, before }));
        }
        if many && self.lost.is_some() {
            return Err(Fault::TooLarge(format!(
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
                    return Err(Fault::Cancelled);
                }
                tree::remove(&roots.resolve_kept(&place.root, &place.path)?)?;
                removed += 1;
            }
            Ok(())
        };
        self.commit_partly(summary, shown, remove_all).map(|changed| Changed { entries, ..changed })
    }

    /// As [`Session::commit`], but the entry stays when the change fails: a part of it may have been made.
    fn commit_partly(
        self,
        summary: String,
        path: String,
        apply: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Changed, Fault> {
        let mut failed = None;
        let keep_entry = || {
            failed = apply().err();
            Ok(())
        };
        let changed = self.commit(summary, path, Vec::new(), keep_entry)?;
        failed.map_or(Ok(changed), Err)
    }
}

/// Whether what stands at the spot is still what was looked at; `None` = nothing.
pub(super) fn check_unchanged(spot: &Spot, before: Option<&Stat>) -> Result<(), Fault> {
    let now = rustix::fs::statat(spot.dir(), spot.name(), AtFlags::SYMLINK_NOFOLLOW);
    match (before, now) {
        (None, Err(rustix::io::Errno::NOENT)) => Ok(()),
        (Some(before), Ok(now)) if write::is_same(before, &now) => Ok(()),
        _ => Err(Fault::Changed),
    }
}
