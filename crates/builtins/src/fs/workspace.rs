//! Workspace: roots and their undo journal. All file changes go through it, one at a time per
//! workspace.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::Mode;
use toolcrib_core::{CallCtx, CancellationToken, ToolError};

use super::atomic_write::{self, check_writable};
use super::bounded_read;
use super::error::{FsError, FsErrorKind};
use super::program_changes::FormerFiles;
use super::resolve::{LinkPolicy, NodeKind};
use super::roots::Roots;
use super::snapshot::{RootedPath, Snapshot};
use super::transaction::Transaction;
use super::undo_journal::{ChangeOrigin, Journal};

/// The folders that tools work in, and the journal that undoes their changes.
#[derive(Debug, Clone)]
pub struct Workspace {
    roots: Roots,
    shared: Arc<Shared>,
    /// The call that uses this value.
    made_by: Option<ChangeOrigin>,
}

/// State that all calls of a workspace share.
#[derive(Debug)]
struct Shared {
    journal: Option<Journal>,
    /// Contents of the files before programs ran; loaded at the first program.
    files_before_program: OnceLock<Mutex<FormerFiles>>,
    gate: Mutex<()>,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeReport {
    /// The real path below its root.
    pub path: String,
    /// Why it cannot be undone; `None` if it can, or if there is no journal.
    pub not_undoable: Option<String>,
    /// Number of changed entries.
    pub entries: usize,
}

impl Workspace {
    /// Creates a workspace whose changes can be undone.
    #[must_use]
    pub fn new(roots: Roots, journal: Journal) -> Self {
        Self::with(roots, Some(journal))
    }

    /// Creates a workspace without a journal, for embedders with their own version control.
    #[must_use]
    pub fn without_journal(roots: Roots) -> Self {
        Self::with(roots, None)
    }

    fn with(roots: Roots, journal: Option<Journal>) -> Self {
        let (files_before_program, gate) = (OnceLock::new(), Mutex::new(()));
        let shared = Arc::new(Shared { journal, files_before_program, gate });
        Self { roots, shared, made_by: None }
    }

    /// Returns the same workspace for a call: without the paths that rules deny to it, and with the
    /// call as the origin of journal entries.
    #[must_use]
    pub fn for_call(&self, ctx: &CallCtx) -> Self {
        let made_by = ChangeOrigin {
            call: ctx.call,
            run: ctx.run,
            owner: ctx.context.owner.clone(),
            conversation: ctx.context.conversation.clone(),
        };
        Self {
            roots: self.roots.for_call(&ctx.path_denials),
            shared: Arc::clone(&self.shared),
            made_by: Some(made_by),
        }
    }

    /// Returns its roots.
    #[must_use]
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Returns its journal.
    #[must_use]
    pub fn journal(&self) -> Option<&Journal> {
        self.shared.journal.as_ref()
    }

    /// Returns the contents of its files before programs ran; `None` without a journal.
    pub(super) fn files_before_program(&self) -> Option<MutexGuard<'_, FormerFiles>> {
        let journal = self.journal()?;
        let open = || Mutex::new(FormerFiles::open(journal.dir()));
        let former = self.shared.files_before_program.get_or_init(open);
        Some(former.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for the lock. A call that is cancelled while it waits changes nothing.
    pub(super) fn begin<'a>(
        &'a self,
        cancel: &'a CancellationToken,
    ) -> Result<Transaction<'a>, FsErrorKind> {
        let gate = self.shared.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger =
            self.shared.journal.as_ref().map(|journal| journal.lock(cancel)).transpose()?;
        if cancel.is_cancelled() {
            return Err(FsErrorKind::Cancelled);
        }
        Ok(Transaction::new(&self.roots, ledger, cancel, self.made_by.clone(), gate))
    }

    /// Writes the whole content of a file and creates missing parent folders. A link is followed to
    /// its target inside the roots.
    ///
    /// # Errors
    /// [`FsError`]; then nothing was changed.
    pub fn overwrite(
        &self,
        path: &str,
        content: &[u8],
        cancel: &CancellationToken,
    ) -> Result<ChangeReport, FsError> {
        let run = || {
            let mut session = self.begin(cancel)?;
            let spot = session.file(path, LinkPolicy::Follow)?;
            let before = spot.node.map(|_| session.snapshot_before(&spot)).transpose()?;
            session.put(spot, before, content, format!("write {path}"))
        };
        run().map_err(|fault: FsErrorKind| fault.at(path))
    }

    /// Appends to a file in place; creates it and its parents if they are missing.
    ///
    /// # Errors
    /// [`FsError`]; [`FsErrorKind::HardLinks`] when the file has other names. Then nothing was
    /// changed.
    pub fn append(
        &self,
        path: &str,
        content: &[u8],
        cancel: &CancellationToken,
    ) -> Result<ChangeReport, FsError> {
        let run = || {
            let session = self.begin(cancel)?;
            let spot = session.file(path, LinkPolicy::Follow)?;
            if spot.node.is_none() {
                return session.put(spot, None, content, format!("append to {path}"));
            }
            session.append(&spot, content, format!("append to {path}"))
        };
        run().map_err(|fault: FsErrorKind| fault.at(path))
    }

    /// Replaces the content of an existing file of at most `max` bytes with the result of `edit`.
    /// The lock is held between reading and writing. A concurrent change by another program is
    /// detected, and then nothing is written.
    ///
    /// # Errors
    /// The error of `edit`, or a [`FsError`] as a [`ToolError`].
    pub fn edit<T>(
        &self,
        path: &str,
        max: u64,
        cancel: &CancellationToken,
        edit: impl FnOnce(Vec<u8>) -> Result<(Vec<u8>, T), ToolError>,
    ) -> Result<(ChangeReport, T), ToolError> {
        let at = |fault: FsErrorKind| ToolError::from(fault.at(path));
        let mut session = self.begin(cancel).map_err(at)?;
        let spot = session.file(path, LinkPolicy::Follow).map_err(at)?;
        let (old, stat) = bounded_read::read_bounded(&spot, max).map_err(at)?;
        let former = session.store_content(&old, &stat).map_err(at)?;
        let (new, value) = edit(old)?;
        let changed =
            session.put(spot, Some((former, stat)), &new, format!("edit {path}")).map_err(at)?;
        Ok((changed, value))
    }

    /// Creates a folder and its parents; `entries` is 0 if it existed already.
    ///
    /// # Errors
    /// [`FsError`]; then nothing was changed.
    pub fn make_dir(
        &self,
        path: &str,
        cancel: &CancellationToken,
    ) -> Result<ChangeReport, FsError> {
        let run = || {
            let mut session = self.begin(cancel)?;
            let mut spot = session.roots.resolve(path, LinkPolicy::Follow).map_err(|e| e.fault)?;
            match spot.node {
                Some(NodeKind::Dir) => return Ok(session.unchanged_report(&spot)),
                Some(_) => return Err(FsErrorKind::Exists),
                None => check_writable(&spot, None)?,
            }
            session.check_executed(path, &spot)?;
            let parents = session.plan_parents(&spot);
            session.plan_created(RootedPath::from_resolved(&spot), Snapshot::Dir { mode: 0o777 });
            let shown = spot.display();
            session.commit(format!("make folder {path}"), shown, parents, || {
                spot.make_parents()?;
                let mode = Mode::from_raw_mode(0o777);
                rustix::fs::mkdirat(spot.dir(), spot.name(), mode).map_err(atomic_write::read_only)
            })
        };
        run().map_err(|fault: FsErrorKind| fault.at(path))
    }

    /// Copies a file, or a folder with its content. A link inside a copied folder is copied as a
    /// link.
    ///
    /// # Errors
    /// [`FsError`]; then nothing was changed.
    pub fn copy(
        &self,
        from: &str,
        to: &str,
        overwrite: bool,
        cancel: &CancellationToken,
    ) -> Result<ChangeReport, FsError> {
        let session = self.begin(cancel).map_err(|f| f.at(to))?;
        let source = session.roots.resolve(from, LinkPolicy::Follow)?;
        let target = session.roots.resolve(to, LinkPolicy::Follow)?;
        session.check_executed(to, &target).map_err(|f| f.at(to))?;
        let summary = format!("copy {from} to {to}");
        match source.node {
            None => Err(FsErrorKind::NotFound.at(from)),
            Some(NodeKind::Special(what)) => Err(FsErrorKind::Special(what).at(from)),
            Some(NodeKind::Dir) => session
                .copy_dir(&source, target, summary)
                .map_err(|fault| fault.at(format!("{from} or {to}"))),
            Some(NodeKind::File | NodeKind::Link) => {
                session.copy_file(&source, target, overwrite, summary).map_err(|f| f.at(to))
            }
        }
    }

    /// Moves a file, link or folder; a link itself is moved, not its target.
    ///
    /// # Errors
    /// [`FsError`]; then nothing was changed.
    pub fn rename(
        &self,
        from: &str,
        to: &str,
        overwrite: bool,
        cancel: &CancellationToken,
    ) -> Result<ChangeReport, FsError> {
        let session = self.begin(cancel).map_err(|f| f.at(to))?;
        let source = session.roots.resolve(from, LinkPolicy::Itself)?;
        let target = session.roots.resolve(to, LinkPolicy::Itself)?;
        match source.node {
            None => return Err(FsErrorKind::NotFound.at(from)),
            Some(NodeKind::Special(what)) => return Err(FsErrorKind::Special(what).at(from)),
            Some(_) if source.is_root() => return Err(FsErrorKind::Outside.at(from)),
            Some(_) => {}
        }
        check_writable(&source, None).map_err(|f| f.at(from))?;
        session.check_executed(to, &target).map_err(|f| f.at(to))?;
        let summary = format!("move {from} to {to}");
        session.rename(&source, target, overwrite, summary).map_err(|f| f.at(to))
    }

    /// Deletes a file, a link (never its target), an empty folder, or a folder with its content.
    ///
    /// # Errors
    /// [`FsError`]; nothing was changed, unless the system stops a recursive delete half-way: undo
    /// then restores the deleted entries.
    pub fn delete(
        &self,
        path: &str,
        recursive: bool,
        cancel: &CancellationToken,
    ) -> Result<ChangeReport, FsError> {
        let run = || {
            let session = self.begin(cancel)?;
            let spot = session.roots.resolve(path, LinkPolicy::Itself).map_err(|e| e.fault)?;
            match spot.node {
                None => return Err(FsErrorKind::NotFound),
                Some(NodeKind::Special(what)) => return Err(FsErrorKind::Special(what)),
                Some(_) if spot.is_root() => return Err(FsErrorKind::Outside),
                Some(NodeKind::File) => check_writable(&spot, Some(&spot.stat()?))?,
                Some(NodeKind::Dir | NodeKind::Link) => check_writable(&spot, None)?,
            }
            session.delete(&spot, recursive, format!("delete {path}"))
        };
        run().map_err(|fault: FsErrorKind| fault.at(path))
    }
}
