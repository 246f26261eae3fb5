//! Several files changed as one: all of them or none, one entry in the journal.

use rustix::fs::{AtFlags, Stat};
use toolcrib_core::{CancellationToken, ToolError};

use super::beneath::{Last, Spot};
use super::change::{Changed, Workspace};
use super::error::{Fault, FsError};
use super::read;
use super::session::{Session, check_unchanged};
use super::snapshot::{Place, Snapshot, mode_of};
use super::write::Temp;

/// A file of a batch as it stands: its content, and what is needed to put it back.
struct Standing {
    content: Vec<u8>,
    stat: Stat,
    former: Option<Snapshot>,
}

/// A file of a batch.
struct Part {
    spot: Spot,
    before: Option<Standing>,
}

impl Workspace {
    /// Replaces the contents of several files by what `edit` makes of them, all or none. `edit` gets the content of each file, in the order
    /// of `paths`, `None` for one that is not there yet, and gives the new ones; equal ones are left alone. No other change of the
    /// workspace comes between reading and writing; one from elsewhere is noticed, and then nothing is written.
    ///
    /// # Errors
    /// What `edit` returns, or a [`FsError`] as a [`ToolError`]; `validation_error` when two paths name one file. All files together have
    /// at most `max` bytes.
    pub fn edit_all<T>(
        &self,
        paths: &[&str],
        max: u64,
        summary: String,
        cancel: &CancellationToken,
        edit: impl FnOnce(&[Option<Vec<u8>>]) -> Result<(Vec<Vec<u8>>, T), ToolError>,
    ) -> Result<(Changed, T), ToolError> {
        let all = || paths.join(", ");
        let mut session = self.begin(cancel).map_err(|fault| ToolError::from(fault.at(all())))?;
        let mut parts: Vec<Part> = Vec::new();
        let mut room = max;
        for path in paths {
            let part =
                session.part(path, room).map_err(|fault| ToolError::from(fault.at(*path)))?;
            room -= part.before.as_ref().map_or(0, |before| before.content.len() as u64);
            let place = Place::of(&part.spot);
            if let Some(at) = parts.iter().position(|other| Place::of(&other.spot) == place) {
                let other = paths.get(at).copied().unwrap_or_default();
                return Err(ToolError::validation(format!(
                    "{path} and {other} name the same file. Name each file once."
                )));
            }
            parts.push(part);
        }
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

impl Session<'_> {
    fn part(&mut self, path: &str, max: u64) -> Result<Part, Fault> {
        let spot = self.file(path, Last::Follow)?;
        if spot.node.is_none() {
            return Ok(Part { spot, before: None });
        }
        let (content, stat) = read::all(&spot, max)?;
        Ok(Part { spot, before: Some(Standing { content, stat, former: None }) })
    }

    fn put_all(
        mut self,
        parts: Vec<Part>,
        new: &[Vec<u8>],
        paths: &[&str],
        summary: String,
    ) -> Result<Changed, FsError> {
        let mut writes = Vec::new();
        let mut parents: Vec<Place> = Vec::new();
        for ((mut part, content), path) in parts.into_iter().zip(new).zip(paths) {
            if part.before.as_ref().is_some_and(|before| before.content == *content) {
                continue;
            }
            if let Some(before) = &mut part.before {
                before.former =
                    self.keep(&before.content, &before.stat).map_err(|fault| fault.at(*path))?;
            }
            parents.extend(self.parents_but(&part.spot, &parents));
            self.plan(&part, content);
            writes.push((part, content.as_slice(), *path));
        }
        if writes.is_empty() {
            return Ok(Changed { path: paths.join(", "), not_undoable: None, entries: 0 });
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
        .map(|changed| Changed { entries, ..changed })
        .map_err(|fault| fault.at(failed_at))
    }

    fn plan(&mut self, part: &Part, content: &[u8]) {
        let place = Place::of(&part.spot);
        match &part.before {
            None => self.created(place, Snapshot::file(content, 0o644)),
            Some(Standing { former, stat, .. }) => {
                self.replaced(place, former.as_ref(), Snapshot::file(content, mode_of(stat)));
            }
        }
    }
}

/// Writes every file beside its target, then puts one after the other in place. What fails half-way is put back.
fn write_all<'p>(writes: &mut [(Part, &[u8], &'p str)]) -> Result<(), (&'p str, Fault)> {
    for (part, _, path) in writes.iter_mut() {
        part.spot.make_parents().map_err(|fault| (*path, fault))?;
    }
    let mut ready = Vec::with_capacity(writes.len());
    for (part, content, path) in writes.iter() {
        let stat = part.before.as_ref().map(|before| &before.stat);
        let temp = Temp::create(&part.spot, stat).and_then(|temp| temp.fill(content));
        ready.push((part, temp.map_err(|fault| (*path, fault))?, *path));
    }
    for (part, _, path) in &ready {
        let stat = part.before.as_ref().map(|before| &before.stat);
        check_unchanged(&part.spot, stat).map_err(|fault| (*path, fault))?;
    }
    let mut done: Vec<&Part> = Vec::new();
    for (part, temp, path) in ready {
        if let Err(fault) = temp.commit(part.spot.name(), part.before.is_some()) {
            for part in done.iter().rev() {
                put_back(part);
            }
            return Err((path, fault));
        }
        done.push(part);
    }
    Ok(())
}

/// As far as the system permits; the journal's entry is gone by then, so this is the only chance.
fn put_back(part: &Part) {
    let spot = &part.spot;
    let _ = match &part.before {
        None => {
            rustix::fs::unlinkat(spot.dir(), spot.name(), AtFlags::empty()).map_err(Fault::from)
        }
        Some(before) => Temp::create(spot, Some(&before.stat))
            .and_then(|temp| temp.fill(&before.content))
            .and_then(|temp| temp.commit(spot.name(), true)),
    };
}
