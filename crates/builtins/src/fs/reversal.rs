//! Reversal of one journal entry, for undo and redo: verifies that the files have not changed
//! since, then restores their former state.

use std::collections::HashSet;

use rustix::fs::AtFlags;
use toolcrib_core::CancellationToken;

use super::error::FsErrorKind;
use super::former_content::FormerContent;
use super::resolve::{NodeKind, ResolvedPath};
use super::roots::Roots;
use super::snapshot::{RootedPath, Snapshot};
use super::undo_journal::{Entry, JournalLock, Step};
use super::{atomic_write, dir_tree};

/// How to reverse one step.
#[derive(Debug, Clone, Copy)]
enum Action {
    /// The step was never made, or is reversed already.
    Nothing,
    Restore,
    Remove,
    MoveBack,
}

/// The purpose of a reversal, for the text of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Undo,
    Redo,
}

impl Direction {
    fn done(self) -> &'static str {
        match self {
            Self::Undo => "undone",
            Self::Redo => "redone",
        }
    }
}

/// One entry whose steps are reversed.
pub(super) struct Reversal<'a> {
    pub(super) roots: &'a Roots,
    pub(super) locked: &'a JournalLock<'a>,
    pub(super) entry: &'a Entry,
    /// The changes of the journal; a refusal names the one that prevents the reversal.
    pub(super) others: &'a [Entry],
    /// Whether later changes are overwritten.
    pub(super) force: bool,
    pub(super) direction: Direction,
}

/// The checked plan of a reversal.
pub(super) struct ReversalPlan<'a> {
    actions: Vec<(&'a Step, Action)>,
    /// The inverse steps, which undo this reversal.
    pub(super) inverse: Vec<Step>,
    /// Why the reversal itself cannot be reversed; `None` if it can.
    pub(super) lost: Option<String>,
}

impl<'a> Reversal<'a> {
    /// Checks every step, the last one first, and stores the contents that the reversal replaces; a
    /// refusal changes nothing.
    pub(super) fn plan(&self) -> Result<ReversalPlan<'a>, String> {
        let made: HashSet<&RootedPath> = self.entry.steps.iter().filter_map(made).collect();
        let mut actions = Vec::new();
        for step in self.entry.steps.iter().rev() {
            actions.push((step, self.action(step, &made)?));
        }
        let mut former = FormerContent::default();
        let mut inverse = Vec::new();
        for (step, action) in &actions {
            self.invert(step, *action, &mut former, &mut inverse)?;
        }
        let lost = former.lost().cloned();
        if lost.is_some() {
            inverse.clear();
        }
        Ok(ReversalPlan { actions, inverse, lost })
    }

    /// Makes the changes of the plan.
    pub(super) fn apply(&self, plan: &ReversalPlan<'_>) -> Result<Vec<String>, String> {
        let stopped = |fault: FsErrorKind| {
            format!("\"{}\" was not {} whole: {fault}.", self.entry.summary, self.direction.done())
        };
        let mut did = Vec::new();
        for (step, action) in &plan.actions {
            did.extend(self.take(step, *action).map_err(stopped)?);
        }
        self.restore_modes().map_err(stopped)?;
        Ok(did)
    }

    /// Adds the steps that reverse an action later.
    fn invert(
        &self,
        step: &Step,
        action: Action,
        former: &mut FormerContent,
        inverse: &mut Vec<Step>,
    ) -> Result<(), String> {
        match (action, step) {
            (Action::Nothing, _) => {}
            (_, Step::Created { place, .. }) => {
                let now = self.keep_now(place, former)?;
                let place = place.clone();
                inverse.extend(now.map(|before| Step::Removed { place, before }));
            }
            (_, Step::Replaced { place, before, .. } | Step::Removed { place, before }) => {
                let (after, place) = (before.clone(), place.clone());
                inverse.push(match self.keep_now(&place, former)? {
                    Some(before) => Step::Replaced { place, before, after },
                    // The later reversal keeps the folder if it contains other files by then.
                    None => {
                        let parent = matches!(after, Snapshot::Dir { .. });
                        Step::Created { place, after, parent }
                    }
                });
            }
            (_, Step::Moved { from, to, ino, moved, replaced }) => {
                // The overwritten target that this reversal has just removed from `from`.
                let overwritten = match inverse.pop() {
                    Some(Step::Removed { place, before }) if place == *from => Some(before),
                    last => {
                        inverse.extend(last);
                        None
                    }
                };
                inverse.push(Step::Moved {
                    from: to.clone(),
                    to: from.clone(),
                    ino: *ino,
                    moved: moved.clone(),
                    replaced: overwritten,
                });
                let place = to.clone();
                inverse.extend(replaced.clone().map(|after| Step::Created {
                    place,
                    after,
                    parent: false,
                }));
            }
        }
        Ok(())
    }

    /// Stores the current state of a path; `None` if the path does not exist or is too large.
    fn keep_now(
        &self,
        place: &RootedPath,
        former: &mut FormerContent,
    ) -> Result<Option<Snapshot>, String> {
        let spot = match self.resolve(place) {
            Ok(spot) if spot.node.is_none() => return Ok(None),
            Ok(spot) => spot,
            Err(FsErrorKind::NotFound | FsErrorKind::NotDir) => return Ok(None),
            Err(fault) => return Err(self.blocked(place, &fault)),
        };
        let kept = former.keep_state(Some(self.locked), &spot);
        kept.map(|(snapshot, _)| snapshot).map_err(|fault| self.blocked(place, &fault))
    }

    fn action(&self, step: &Step, made: &HashSet<&RootedPath>) -> Result<Action, String> {
        match step {
            Step::Created { place, after, parent } => {
                let now = self.now(place)?;
                match now {
                    None => Ok(Action::Nothing),
                    Some(now) if now.matches(after) || self.force => {
                        if *parent || self.force || self.holds_only(place, made)? {
                            Ok(Action::Remove)
                        } else {
                            Err(self.changed(place))
                        }
                    }
                    Some(_) => Err(self.changed(place)),
                }
            }
            Step::Replaced { place, before, after } => match self.now(place)? {
                Some(now) if now.matches(before) => Ok(Action::Nothing),
                Some(now) if now.matches(after) => Ok(Action::Restore),
                _ if self.force => Ok(Action::Restore),
                _ => Err(self.changed(place)),
            },
            Step::Removed { place, before } => match self.now(place)? {
                None => Ok(Action::Restore),
                Some(now) if now.matches(before) => Ok(Action::Nothing),
                Some(_) if self.force => Ok(Action::Restore),
                Some(_) => Err(self.changed(place)),
            },
            Step::Moved { from, to, ino, moved, .. } => self.move_back(from, to, *ino, moved, made),
        }
    }

    fn move_back(
        &self,
        from: &RootedPath,
        to: &RootedPath,
        ino: u64,
        moved: &Option<Snapshot>,
        made: &HashSet<&RootedPath>,
    ) -> Result<Action, String> {
        if self.has_inode(from, ino)? {
            return Ok(Action::Nothing);
        }
        let (source, target) = (self.now(to)?, self.now(from)?);
        let is_same = |now: &Snapshot| moved.as_ref().is_some_and(|moved| now.matches(moved));
        match (&source, &target) {
            (None, Some(now)) if is_same(now) => return Ok(Action::Nothing),
            (None, _) => return Err(self.changed(to)),
            (Some(now), _) if is_same(now) || self.force || self.has_inode(to, ino)? => {}
            (Some(_), _) => return Err(self.changed(to)),
        }
        if target.is_some() && !made.contains(from) {
            return Err(format!(
                "\"{}\" cannot be {}: another file exists at {} now. Move it away first.",
                self.entry.summary,
                self.direction.done(),
                from.path.display()
            ));
        }
        Ok(Action::MoveBack)
    }

    fn has_inode(&self, place: &RootedPath, ino: u64) -> Result<bool, String> {
        match self.resolve(place) {
            Ok(spot) if spot.node.is_some() => Ok(spot.stat().is_ok_and(|s| s.st_ino == ino)),
            Ok(_) | Err(FsErrorKind::NotFound) => Ok(false),
            Err(fault) => Err(self.blocked(place, &fault)),
        }
    }

    /// Returns whether a created folder contains only entries that the same change created.
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

    fn take(&self, step: &Step, action: Action) -> Result<Option<String>, FsErrorKind> {
        let place = match step {
            Step::Created { place, .. }
            | Step::Replaced { place, .. }
            | Step::Removed { place, .. } => place,
            Step::Moved { to, .. } => to,
        };
        let shown = place.path.display();
        match (action, step) {
            (Action::Nothing, _) => Ok(None),
            (Action::Remove, Step::Created { parent, .. }) => {
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
                Ok(Some(format!("moved {shown} to {}", from.path.display())))
            }
            (Action::Restore | Action::MoveBack, Step::Created { .. }) => Ok(None),
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
            // A file has replaced a parent folder; with `force`, the folder replaces the file.
            Err(FsErrorKind::NotDir) if self.force => Ok(None),
            Err(fault) => Err(self.blocked(place, &fault)),
        }
    }

    fn changed(&self, place: &RootedPath) -> String {
        let later = self.others.iter().find(|other| {
            other.id > self.entry.id && other.steps.iter().any(|step| touches(step, place))
        });
        let by = later.map(|other| format!(" by \"{}\"", other.summary)).unwrap_or_default();
        format!(
            "\"{}\" cannot be {}: {} was changed since{by}. Force overwrites that change.",
            self.entry.summary,
            self.direction.done(),
            place.path.display()
        )
    }

    fn blocked(&self, place: &RootedPath, fault: &FsErrorKind) -> String {
        match fault {
            FsErrorKind::Outside => format!(
                "\"{}\" cannot be {}: {} is not a root of this workspace now.",
                self.entry.summary,
                self.direction.done(),
                place.root.display()
            ),
            FsErrorKind::Changed | FsErrorKind::NotDir => self.changed(place),
            fault => format!(
                "\"{}\" cannot be {}: {}: {fault}.",
                self.entry.summary,
                self.direction.done(),
                place.path.display()
            ),
        }
    }
}

/// Returns the path that a step created.
fn made(step: &Step) -> Option<&RootedPath> {
    match step {
        Step::Created { place, .. } => Some(place),
        Step::Moved { to, .. } => Some(to),
        _ => None,
    }
}

fn touches(step: &Step, place: &RootedPath) -> bool {
    match step {
        Step::Created { place: at, .. }
        | Step::Replaced { place: at, .. }
        | Step::Removed { place: at, .. } => at == place,
        Step::Moved { from, to, .. } => from == place || to == place,
    }
}
