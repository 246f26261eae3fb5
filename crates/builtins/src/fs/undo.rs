//! Undo: verifies that the files have not changed since, then restores their former state.

use std::collections::HashSet;

use rustix::fs::AtFlags;
use toolcrib_core::CancellationToken;

use super::error::FsErrorKind;
use super::resolve::{NodeKind, ResolvedPath};
use super::roots::Roots;
use super::snapshot::{RootedPath, Snapshot};
use super::undo_journal::{Entry, Journal, JournalError, JournalLock, Step};
use super::{atomic_write, dir_tree};

/// The result of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoReport {
    /// The undone changes, newest first.
    pub undone: Vec<UndoneEntry>,
    /// The change at which undo stopped, and the reason as a sentence.
    pub refused: Option<(Entry, String)>,
}

/// One change that was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneEntry {
    /// The change.
    pub entry: Entry,
    /// The steps taken, one line each; empty if the change had never been made.
    pub did: Vec<String>,
}

impl Journal {
    /// Undoes the last `n` changes, newest first, and removes them from the journal. It stops at
    /// the first change that cannot be undone because a file was changed since or its former
    /// content was not stored. With `force`, it overwrites later changes and skips a change without
    /// stored content.
    ///
    /// # Errors
    /// [`JournalError`] when the journal cannot be read or written. A refusal is part of the
    /// report.
    pub fn undo(&self, roots: &Roots, n: usize, force: bool) -> Result<UndoReport, JournalError> {
        let locked = self.lock(&CancellationToken::new())?;
        let mut report = UndoReport::default();
        for entry in locked.list()?.into_iter().take(n) {
            let attempt = UndoAttempt { roots, locked: &locked, entry: &entry, force };
            match attempt.run() {
                Ok(did) => {
                    locked.forget(entry.id)?;
                    report.undone.push(UndoneEntry { entry, did });
                }
                Err(reason) => {
                    report.refused = Some((entry, reason));
                    break;
                }
            }
        }
        Ok(report)
    }
}

/// How to undo one step.
enum UndoAction {
    /// The step was never made, or is undone already.
    Nothing,
    Restore,
    Remove,
    MoveBack,
}

struct UndoAttempt<'a> {
    roots: &'a Roots,
    locked: &'a JournalLock<'a>,
    entry: &'a Entry,
    force: bool,
}

impl UndoAttempt<'_> {
    /// Checks every step, then undoes them in reverse order; a refusal changes nothing.
    fn run(&self) -> Result<Vec<String>, String> {
        if let Some(reason) = &self.entry.not_undoable {
            return if self.force {
                Ok(vec![format!("passed over \"{}\": {reason}", self.entry.summary)])
            } else {
                Err(format!("\"{}\" cannot be undone: {reason}.", self.entry.summary))
            };
        }
        let made: HashSet<&RootedPath> = self.entry.steps.iter().filter_map(made).collect();
        let mut plans = Vec::new();
        for step in self.entry.steps.iter().rev() {
            plans.push((step, self.plan(step, &made)?));
        }
        let mut did = Vec::new();
        for (step, plan) in &plans {
            let done = self.apply(step, plan).map_err(|fault| {
                format!("undoing \"{}\" stopped: {}.", self.entry.summary, fault)
            })?;
            did.extend(done);
        }
        self.restore_modes()
            .map_err(|fault| format!("undoing \"{}\" stopped: {}.", self.entry.summary, fault))?;
        Ok(did)
    }

    fn plan(&self, step: &Step, made: &HashSet<&RootedPath>) -> Result<UndoAction, String> {
        match step {
            Step::Created { place, after, parent } => {
                let now = self.now(place)?;
                match now {
                    None => Ok(UndoAction::Nothing),
                    Some(now) if now.matches(after) || self.force => {
                        if *parent || self.force || self.holds_only(place, made)? {
                            Ok(UndoAction::Remove)
                        } else {
                            Err(self.changed(place))
                        }
                    }
                    Some(_) => Err(self.changed(place)),
                }
            }
            Step::Replaced { place, before, after } => match self.now(place)? {
                Some(now) if now.matches(before) => Ok(UndoAction::Nothing),
                Some(now) if now.matches(after) => Ok(UndoAction::Restore),
                _ if self.force => Ok(UndoAction::Restore),
                _ => Err(self.changed(place)),
            },
            Step::Removed { place, before } => match self.now(place)? {
                None => Ok(UndoAction::Restore),
                Some(now) if now.matches(before) => Ok(UndoAction::Nothing),
                Some(_) if self.force => Ok(UndoAction::Restore),
                Some(_) => Err(self.changed(place)),
            },
            Step::Moved { from, to, ino, .. } => {
                let is_moved = |place| -> Result<bool, String> {
                    let spot = self.resolve(place);
                    Ok(match spot {
                        Ok(spot) if spot.node.is_some() => {
                            spot.stat().is_ok_and(|stat| stat.st_ino == *ino)
                        }
                        Ok(_) | Err(FsErrorKind::NotFound) => false,
                        Err(fault) => return Err(self.blocked(place, &fault)),
                    })
                };
                if is_moved(from)? {
                    Ok(UndoAction::Nothing)
                } else if !is_moved(to)? {
                    Err(self.changed(to))
                } else if self.now(from)?.is_some() {
                    Err(format!(
                        "\"{}\" cannot be undone: something else stands at {} now. Move it away first.",
                        self.entry.summary,
                        from.path.display()
                    ))
                } else {
                    Ok(UndoAction::MoveBack)
                }
            }
        }
    }

    /// Whether a created folder contains only what the same change created.
    fn holds_only(&self, place: &RootedPath, made: &HashSet<&RootedPath>) -> Result<bool, String> {
        let spot = self.resolve(place).map_err(|fault| self.blocked(place, &fault))?;
        if spot.node != Some(NodeKind::Dir) {
            return Ok(true);
        }
        let cancel = CancellationToken::new();
        let items = dir_tree::entries(self.roots, &spot, &cancel)
            .map_err(|fault| self.blocked(place, &fault))?;
        Ok(items.iter().all(|(path, _)| made.contains(&place.sibling(place.path.join(path)))))
    }

    fn apply(&self, step: &Step, plan: &UndoAction) -> Result<Option<String>, FsErrorKind> {
        let place = match step {
            Step::Created { place, .. }
            | Step::Replaced { place, .. }
            | Step::Removed { place, .. } => place,
            Step::Moved { to, .. } => to,
        };
        let shown = place.path.display();
        match (plan, step) {
            (UndoAction::Nothing, _) => Ok(None),
            (UndoAction::Remove, Step::Created { parent, .. }) => {
                match dir_tree::remove(&self.resolve(place)?) {
                    Ok(()) => Ok(Some(format!("removed {shown}"))),
                    Err(FsErrorKind::NotEmpty | FsErrorKind::Exists) if *parent => {
                        Ok(Some(format!("kept {shown}: it holds other files")))
                    }
                    Err(fault) => Err(fault),
                }
            }
            (_, Step::Replaced { before, .. } | Step::Removed { before, .. }) => {
                self.restore(place, before)?;
                Ok(Some(format!("restored {shown}")))
            }
            (_, Step::Moved { from, to, replaced, .. }) => {
                let (back, away) = (self.resolve(from)?, self.resolve(to)?);
                atomic_write::rename(away.dir(), away.name(), back.dir(), back.name(), false)?;
                if let Some(before) = replaced {
                    self.restore(to, before)?;
                }
                Ok(Some(format!("moved {shown} back to {}", from.path.display())))
            }
            (UndoAction::Restore | UndoAction::MoveBack, Step::Created { .. }) => Ok(None),
        }
    }

    fn restore(&self, place: &RootedPath, before: &Snapshot) -> Result<(), FsErrorKind> {
        let mut spot = self.resolve(place)?;
        spot.make_parents()?;
        if spot.node == Some(NodeKind::Dir) && !matches!(before, Snapshot::Dir { .. }) {
            return Err(FsErrorKind::IsDir);
        }
        if spot.node.is_some_and(|n| n != NodeKind::Dir) && matches!(before, Snapshot::Dir { .. }) {
            rustix::fs::unlinkat(spot.dir(), spot.name(), AtFlags::empty())?;
            spot.node = None;
        }
        before.restore(&spot, |sha256| Ok(self.locked.load_blob(sha256)?))
    }

    fn restore_modes(&self) -> Result<(), FsErrorKind> {
        for step in &self.entry.steps {
            if let Step::Removed { place, before: before @ Snapshot::Dir { .. } } = step {
                before.restore_mode(&self.resolve(place)?)?;
            }
        }
        Ok(())
    }

    fn resolve(&self, place: &RootedPath) -> Result<ResolvedPath, FsErrorKind> {
        self.roots.resolve_in_root(&place.root, &place.path)
    }

    fn now(&self, place: &RootedPath) -> Result<Option<Snapshot>, String> {
        let taken = self.resolve(place).and_then(|spot| {
            if matches!(spot.node, Some(NodeKind::Special(_))) {
                return Err(FsErrorKind::Changed);
            }
            Snapshot::capture(&spot, &CancellationToken::new())
        });
        match taken {
            Ok(snapshot) => Ok(snapshot),
            Err(FsErrorKind::NotFound) => Ok(None),
            // A file has taken the place of a parent folder; with `force`, the folder replaces it.
            Err(FsErrorKind::NotDir) if self.force => Ok(None),
            Err(fault) => Err(self.blocked(place, &fault)),
        }
    }

    fn changed(&self, place: &RootedPath) -> String {
        format!(
            "\"{}\" cannot be undone: {} was changed since. Undo with force to overwrite that change.",
            self.entry.summary,
            place.path.display()
        )
    }

    fn blocked(&self, place: &RootedPath, fault: &FsErrorKind) -> String {
        match fault {
            FsErrorKind::Outside => format!(
                "\"{}\" cannot be undone: {} is not a root of this workspace now.",
                self.entry.summary,
                place.root.display()
            ),
            FsErrorKind::Changed | FsErrorKind::NotDir => self.changed(place),
            fault => format!(
                "\"{}\" cannot be undone: {}: {fault}.",
                self.entry.summary,
                place.path.display()
            ),
        }
    }
}

fn made(step: &Step) -> Option<&RootedPath> {
    match step {
        Step::Created { place, .. } => Some(place),
        _ => None,
    }
}
