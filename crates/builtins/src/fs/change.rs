//! A workspace: roots and their undo journal. Every change of a file goes through here, one at a time per workspace.

use std::sync::{Mutex, PoisonError};

use rustix::fs::Mode;
use toolcrib_core::{CancellationToken, ToolError};

use super::beneath::{Last, Node};
use super::error::{Fault, FsError};
use super::journal::Journal;
use super::read;
use super::roots::Roots;
use super::session::Session;
use super::snapshot::{Place, Snapshot};
use super::write::{self, check_writable};

/// The folders of a person's work, and the journal that undoes what tools did there.
#[derive(Debug)]
pub struct Workspace {
    roots: Roots,
    journal: Option<Journal>,
    gate: Mutex<()>,
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The real path below its root.
    pub path: String,
    /// Why this cannot be undone; `None` = it can, or there is no journal.
    pub not_undoable: Option<String>,
    /// Entries that were changed.
    pub entries: usize,
}

impl Workspace {
    /// A workspace whose changes can be undone.
    #[must_use]
    pub fn new(roots: Roots, journal: Journal) -> Self {
        Self { roots, journal: Some(journal), gate: Mutex::new(()) }
    }

    /// A workspace without a journal, for embedders that keep versions of their own.
    #[must_use]
    pub fn without_journal(roots: Roots) -> Self {
        Self { roots, journal: None, gate: Mutex::new(()) }
    }

    /// Its roots.
    #[must_use]
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Its journal.
    #[must_use]
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Waits for its turn. A call that was stopped while it waited changes nothing.
    pub(super) fn begin<'a>(&'a self, cancel: &'a CancellationToken) -> Result<Session<'a>, Fault> {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger = self.journal.as_ref().map(|journal| journal.lock(cancel)).transpose()?;
        if cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        Ok(Session::new(&self.roots, ledger, cancel, gate))
    }

    /// Writes the whole content of a file, making its parents. A link is followed to the file inside the roots that it names.
    ///
    /// # Errors
    /// [`FsError`]; then nothing was changed.
    pub fn overwrite(
        &self,
        path: &str,
        content: &[u8],
        cancel: &CancellationToken,
    ) -> Result<Changed, FsError> {
        let run = || {
            let mut session = self.begin(cancel)?;
            let spot = session.file(path, Last::Follow)?;
            let before = spot.node.map(|_| session.former(&spot)).transpose()?;
            session.put(spot, before, content, format!("write {path}"))
        };
        run().map_err(|fault: Fault| fault.at(path))
    }

    /// Adds to the end of a file, in place, making it and its parents when they are missing.
    ///
    /// # Errors
    /// [`FsError`]; [`Fault::HardLinks`] when the file has other names. Then nothing was changed.
    pub fn append(
        &self,
        path: &str,
        content: &[u8],
        cancel: &CancellationToken,
    ) -> Result<Changed, FsError> {
        let run = || {
            let session = self.begin(cancel)?;
            let spot = session.file(path, Last::Follow)?;
            if spot.node.is_none() {
                return session.put(spot, None, content, format!("append to {path}"));
            }
            session.append(&spot, content, format!("append to {path}"))
        };
        run().map_err(|fault: Fault| fault.at(path))
    }

    /// Replaces the content of an existing file of at most `max` bytes by what `edit` makes of it. No other change of the workspace
    /// comes between reading and writing; one from elsewhere is noticed, and then nothing is written.
    ///
    /// # Errors
    /// What `edit` returns, or a [`FsError`] as a [`ToolError`].
    pub fn edit<T>(
        &self,
        path: &str,
        max: u64,
        cancel: &CancellationToken,
        edit: impl FnOnce(Vec<u8>) -> Result<(Vec<u8>, T), ToolError>,
    ) -> Result<(Changed, T), ToolError> {
        let at = |fault: Fault| ToolError::from(fault.at(path));
        let mut session = self.begin(cancel).map_err(at)?;
        let spot = session.file(path, Last::Follow).map_err(at)?;
        let (old, stat) = read::all(&spot, max).map_err(at)?;
        let former = session.keep(&old, &stat).map_err(at)?;
        let (new, value) = edit(old)?;
        let changed =
            session.put(spot, Some((former, stat)), &new, format!("edit {path}")).map_err(at)?;
        Ok((changed, value))
    }

    /// Makes a folder and its parents; `entries` is 0 when it was there already.
    ///
    /// # Errors
    /// [`FsError`]; then nothing was changed.
    pub fn make_dir(&self, path: &str, cancel: &CancellationToken) -> Result<Changed, FsError> {
        let run = || {
            let mut session = self.begin(cancel)?;
            let mut spot = session.roots.resolve(path, Last::Follow).map_err(|e| e.fault)?;
            match spot.node {
                Some(Node::Dir) => return Ok(session.nothing(&spot)),
                Some(_) => return Err(Fault::Exists),
                None => check_writable(&spot, None)?,
            }
            let parents = session.parents(&spot);
            session.created(Place::of(&spot), Snapshot::Dir { mode: 0o777 });
            let shown = spot.display();
            session.commit(format!("make folder {path}"), shown, parents, || {
                spot.make_parents()?;
                let mode = Mode::from_raw_mode(0o777);
                rustix::fs::mkdirat(spot.dir(), spot.name(), mode).map_err(write::read_only)
            })
        };
        run().map_err(|fault: Fault| fault.at(path))
    }

    /// Copies a file, or a folder with everything in it. A link inside a copied folder is copied as a link.
    ///
    /// # Errors
    /// [`FsError`]; then nothing was changed.
    pub fn copy(
        &self,
        from: &str,
        to: &str,
        overwrite: bool,
        cancel: &CancellationToken,
    ) -> Result<Changed, FsError> {
        let session = self.begin(cancel).map_err(|f| f.at(to))?;
        let source = session.roots.resolve(from, Last::Follow)?;
        let target = session.roots.resolve(to, Last::Follow)?;
        let summary = format!("copy {from} to {to}");
        match source.node {
            None => Err(Fault::NotFound.at(from)),
            Some(Node::Special(what)) => Err(Fault::Special(what).at(from)),
            Some(Node::Dir) => session
                .copy_dir(&source, target, summary)
                .map_err(|fault| fault.at(format!("{from} or {to}"))),
            Some(Node::File | Node::Link) => {
                session.copy_file(&source, target, overwrite, summary).map_err(|f| f.at(to))
            }
        }
    }

    /// Moves a file, link or folder; a link is moved itself.
    ///
    /// # Errors
    /// [`FsError`]; then nothing was changed.
    pub fn rename(
        &self,
        from: &str,
        to: &str,
        overwrite: bool,
        cancel: &CancellationToken,
    ) -> Result<Changed, FsError> {
        let session = self.begin(cancel).map_err(|f| f.at(to))?;
        let source = session.roots.resolve(from, Last::Itself)?;
        let target = session.roots.resolve(to, Last::Itself)?;
        match source.node {
            None => return Err(Fault::NotFound.at(from)),
            Some(Node::Special(what)) => return Err(Fault::Special(what).at(from)),
            Some(_) if source.is_root() => return Err(Fault::Outside.at(from)),
            Some(_) => {}
        }
        check_writable(&source, None).map_err(|f| f.at(from))?;
        let summary = format!("move {from} to {to}");
        session.rename(&source, target, overwrite, summary).map_err(|f| f.at(to))
    }

    /// Deletes a file or a link, never what a link leads to; a folder when it is empty, or with everything in it.
    ///
    /// # Errors
    /// [`FsError`]; nothing was changed, except when the system stops a recursive delete half-way: then undo brings back what is gone.
    pub fn delete(
        &self,
        path: &str,
        recursive: bool,
        cancel: &CancellationToken,
    ) -> Result<Changed, FsError> {
        let run = || {
            let session = self.begin(cancel)?;
            let spot = session.roots.resolve(path, Last::Itself).map_err(|e| e.fault)?;
            match spot.node {
                None => return Err(Fault::NotFound),
                Some(Node::Special(what)) => return Err(Fault::Special(what)),
                Some(_) if spot.is_root() => return Err(Fault::Outside),
                Some(Node::File) => check_writable(&spot, Some(&spot.stat()?))?,
                Some(Node::Dir | Node::Link) => check_writable(&spot, None)?,
            }
            session.delete(&spot, recursive, format!("delete {path}"))
        };
        run().map_err(|fault: Fault| fault.at(path))
    }
}
