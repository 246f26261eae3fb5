//! Changes several files atomically: all of them or none, with one journal entry.

use rustix::fs::{AtFlags, Stat};
use toolcrib_core::{CancellationToken, ToolError};

use super::atomic_write::TempFile;
use super::bounded_read;
use super::error::{FsError, FsErrorKind};
use super::resolve::{LinkPolicy, ResolvedPath};
use super::snapshot::{RootedPath, Snapshot, mode_of};
use super::transaction::{Transaction, check_unchanged};
use super::workspace::{ChangeReport, Workspace};

/// A file before the edit: its content, and the data for restoring it.
struct CurrentFile {
    content: Vec<u8>,
    stat: Stat,
    former: Option<Snapshot>,
}

/// A file of the edit.
struct FileEdit {
    spot: ResolvedPath,
    before: Option<CurrentFile>,
}

impl Workspace {
    /// Replaces the contents of several files with the result of `edit`, all or none. `edit` gets
    /// the content of each file in the order of `paths`, `None` for a missing one, and returns the
    /// new contents; unchanged files are not written. The workspace lock is held between reading
    /// and writing. If another program changes a file meanwhile, nothing is written.
    ///
    /// # Errors
    /// The error of `edit`, or a [`FsError`] as a [`ToolError`]; `validation_error` when two paths
    /// name one file. All files together may have at most `max` bytes.
    pub fn edit_all<T>(
        &self,
        paths: &[&str],
        max: u64,
        summary: String,
        cancel: &CancellationToken,
        edit: impl FnOnce(&[Option<Vec<u8>>]) -> Result<(Vec<Vec<u8>>, T), ToolError>,
    ) -> Result<(ChangeReport, T), ToolError> {
        let all = || paths.join(", ");
        let mut session = self.begin(cancel).map_err(|fault| ToolError::from(fault.at(all())))?;
        let mut parts: Vec<FileEdit> = Vec::new();
        let mut room = max;
        for path in paths {
            let part =
                session.part(path, room).map_err(|fault| ToolError::from(fault.at(*path)))?;
            room -= part.before.as_ref().map_or(0, |before| before.content.len() as u64);
            let place = RootedPath::from_resolved(&part.spot);
            if let Some(at) =
                parts.iter().position(|other| RootedPath::from_resolved(&other.spot) == place)
            {
                let other = paths.get(at).copied().unwrap_or_default();
                return Err(ToolError::validation(format!(
                    "{path} and {other} name the same file. Name each file once."
                )));
            }
            parts.push(part);
        }
        // Move the contents out, so that `edit` can borrow all of them as one slice.
        let old: Vec<_> = parts
            .iter_mut()
            .map(|p| p.before.as_mut().map(|b| std::mem::take(&mut b.content)))
            .collect();
        let (new, value) = edit(&old)?;
        for (part, old) in parts.iter_mut().zip(old) {
            if let (Some(before), Some(content)) = (&mut part.before, old) {
                before.content = content;
            }
        }
        let changed = session.put_all(parts, &new, paths, summary)?;
        Ok((changed, value))
    }
}

impl Transaction<'_> {
    fn part(&mut self, path: &str, max: u64) -> Result<FileEdit, FsErrorKind> {
        let spot = self.file(path, LinkPolicy::Follow)?;
        if spot.node.is_none() {
            return Ok(FileEdit { spot, before: None });
        }
        let (content, stat) = bounded_read::read_bounded(&spot, max)?;
        Ok(FileEdit { spot, before: Some(CurrentFile { content, stat, former: None }) })
    }

    fn put_all(
        mut self,
        parts: Vec<FileEdit>,
        new: &[Vec<u8>],
        paths: &[&str],
        summary: String,
    ) -> Result<ChangeReport, FsError> {
        let mut writes = Vec::new();
        let mut parents: Vec<RootedPath> = Vec::new();
        for ((mut part, content), path) in parts.into_iter().zip(new).zip(paths) {
            if part.before.as_ref().is_some_and(|before| before.content == *content) {
                continue;
            }
            if let Some(before) = &mut part.before {
                before.former = self
                    .store_content(&before.content, &before.stat)
                    .map_err(|fault| fault.at(*path))?;
            }
            parents.extend(self.plan_other_parents(&part.spot, &parents));
            self.plan(&part, content);
            writes.push((part, content.as_slice(), *path));
        }
        if writes.is_empty() {
            return Ok(ChangeReport { path: paths.join(", "), not_undoable: None, entries: 0 });
        }
        let shown = writes.iter().map(|(part, ..)| part.spot.display()).collect::<Vec<_>>();
        let entries = writes.len();
        let mut failed_at = paths.join(", ");
        self.commit(summary, shown.join(", "), parents, || {
            write_all(&mut writes).map_err(|(path, fault)| {
                path.clone_into(&mut failed_at);
                fault
            })
        })
        .map(|changed| ChangeReport { entries, ..changed })
        .map_err(|fault| fault.at(failed_at))
    }

    fn plan(&mut self, part: &FileEdit, content: &[u8]) {
        let place = RootedPath::from_resolved(&part.spot);
        match &part.before {
            None => self.plan_created(place, Snapshot::file(content, 0o644)),
            Some(CurrentFile { former, stat, .. }) => {
                self.plan_replaced(place, former.as_ref(), Snapshot::file(content, mode_of(stat)));
            }
        }
    }
}

/// Writes a temporary file beside every target, then renames them one by one. If one fails, those
/// already renamed are restored.
fn write_all<'p>(writes: &mut [(FileEdit, &[u8], &'p str)]) -> Result<(), (&'p str, FsErrorKind)> {
    for (part, _, path) in writes.iter_mut() {
        part.spot.make_parents().map_err(|fault| (*path, fault))?;
    }
    let mut ready = Vec::with_capacity(writes.len());
    for (part, content, path) in writes.iter() {
        let stat = part.before.as_ref().map(|before| &before.stat);
        let temp = TempFile::create(&part.spot, stat).and_then(|temp| temp.fill(content));
        ready.push((part, temp.map_err(|fault| (*path, fault))?, *path));
    }
    // Check for changes by other programs as late as possible: all temporary files are complete,
    // and only the renames follow.
    for (part, _, path) in &ready {
        let stat = part.before.as_ref().map(|before| &before.stat);
        check_unchanged(&part.spot, stat).map_err(|fault| (*path, fault))?;
    }
    let mut done: Vec<&FileEdit> = Vec::new();
    for (part, temp, path) in ready {
        if let Err(fault) = temp.commit(part.spot.name(), part.before.is_some()) {
            for part in done.iter().rev() {
                restore(part);
            }
            return Err((path, fault));
        }
        done.push(part);
    }
    Ok(())
}

/// Restores a file, as far as the system permits. The journal entry is already removed, so undo
/// cannot restore the file later.
fn restore(part: &FileEdit) {
    let spot = &part.spot;
    let _ = match &part.before {
        None => rustix::fs::unlinkat(spot.dir(), spot.name(), AtFlags::empty())
            .map_err(FsErrorKind::from),
        Some(before) => TempFile::create(spot, Some(&before.stat))
            .and_then(|temp| temp.fill(&before.content))
            .and_then(|temp| temp.commit(spot.name(), true)),
    };
}
