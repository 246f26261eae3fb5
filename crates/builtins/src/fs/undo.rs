//! Undoing: checks that nothing changed since, then puts back what stood there.

use std::collections::HashSet;

use rustix::fs::AtFlags;
use toolcrib_core::CancellationToken;

use super::beneath::{Node, Spot};
use super::error::Fault;
use super::journal::{Entry, Journal, JournalError, Locked, Step};
use super::roots::Roots;
use super::snapshot::{Place, Snapshot};
use super::{tree, write};

/// What an undo did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoReport {
    /// The changes that were undone, newest first.
    pub undone: Vec<Undone>,
    /// Why it went no further: the change that stands in the way, and the reason in a sentence.
    pub refused: Option<(Entry, String)>,
}

/// One change that was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The change.
    pub entry: Entry,
    /// What was done to undo it, one line each; empty when it had never been made.
    pub did: Vec<String>,
}

impl Journal {
    /// Undoes the last `n` changes, newest first, and takes them out of the journal. It stops at the first change that cannot be undone:
    /// something was changed since, or its former content was not kept. With `force`, later changes are overwritten, and a change
    /// without kept content is passed over.
    ///
    /// # Errors
    /// [`JournalError`] when the journal cannot be read or written. A refusal is part of the report.
    pub fn undo(&self, roots: &Roots, n: usize, force: bool) -> Result<UndoReport, JournalError> {
        let locked = self.lock(&CancellationToken::new())?;
        let mut report = UndoReport::default();
        for entry in locked.list()?.into_iter().take(n) {
            let attempt = Attempt { roots, locked: &locked, entry: &entry, force };
            match attempt.run() {
                Ok(did) => {
                    locked.forget(entry.id)?;
                    report.undone.push(Undone { entry, did });
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

/// What must be done for one step.
enum Plan {
    /// The step was never made, or is undone already.
    Nothing,
    Restore,
    Remove,
    MoveBack,
}

struct Attempt<'a> {
    roots: &'a Roots,
    locked: &'a Locked<'a>,
    entry: &'a Entry,
    force: bool,
}

impl Attempt<'_> {
    /// Checks every step, then undoes them in reverse; on a refusal nothing was changed.
    fn run(&self) -> Result<Vec<String>, String> {
        if let Some(reason) = &self.entry.not_undoable {
            return if self.force {
                Ok(vec![format!("passed over \"{}\": {reason}", self.entry.summary)])
            } else {
                Err(format!("\"{}\" cannot be undone: {reason}.", self.entry.summary))
            };
        }
        let made: HashSet<&Place> = self.entry.steps.iter().filter_map(made).collect();
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

    fn plan(&self, step: &Step, made: &HashSet<&Place>) -> Result<Plan, String> {
        match step {
            Step::Created { place, after, parent } => {
                let now = self.now(place)?;
                match now {
                    None => Ok(Plan::Nothing),
                    Some(now) if now.matches(after) || self.force => {
                        if *parent || self.force || self.holds_only(place, made)? {
                            Ok(Plan::Remove)
                        } else {
                            Err(self.changed(place))
                        }
                    }
                    Some(_) => Err(self.changed(place)),
                }
            }
            Step::Replaced { place, before, after } => match self.now(place)? {
                Some(now) if now.matches(before) => Ok(Plan::Nothing),
                Some(now) if now.matches(after) => Ok(Plan::Restore),
                _ if self.force => Ok(Plan::Restore),
                _ => Err(self.changed(place)),
            },
            Step::Removed { place, before } => match self.now(place)? {
                None => Ok(Plan::Restore),
                Some(now) if now.matches(before) => Ok(Plan::Nothing),
                Some(_) if self.force => Ok(Plan::Restore),
                Some(_) => Err(self.changed(place)),
            },
            Step::Moved { from, to, ino, .. } => {
                let is_moved = |place| -> Result<bool, String> {
                    let spot = self.spot(place);
                    Ok(match spot {
                        Ok(spot) if spot.node.is_some() => {
                            spot.stat().is_ok_and(|stat| stat.st_ino == *ino)
                        }
                        Ok(_) | Err(Fault::NotFound) => false,
                        Err(fault) => return Err(self.blocked(place, &fault)),
                    })
                };
                if is_moved(from)? {
                    Ok(Plan::Nothing)
                } else if !is_moved(to)? {
                    Err(self.changed(to))
                } else if self.now(from)?.is_some() {
                    Err(format!(
                        "\"{}\" cannot be undone: something else stands at {} now. Move it away first.",
                        self.entry.summary,
                        from.path.display()
                    ))
                } else {
                    Ok(Plan::MoveBack)
                }
            }
        }
    }

    /// Whether a created folder holds nothing but what the same change created.
    fn holds_only(&self, place: &Place, made: &HashSet<&Place>) -> Result<bool, String> {
        let spot = self.spot(place).map_err(|fault| self.blocked(place, &fault))?;
        if spot.node != Some(Node::Dir) {
            return Ok(true);
        }
        let cancel = CancellationToken::new();
        let items = tree::entries(self.roots, &spot, &cancel)
            .map_err(|fault| self.blocked(place, &fault))?;
        Ok(items.iter().all(|(path, _)| made.contains(&place.sibling(place.path.join(path)))))
    }

    fn apply(&self, step: &Step, plan: &Plan) -> Result<Option<String>, Fault> {
        let place = match step {
            Step::Created { place, .. }
            | Step::Replaced { place, .. }
            | Step::Removed { place, .. } => place,
            Step::Moved { to, .. } => to,
        };
        let shown = place.path.display();
        match (plan, step) {
            (Plan::Nothing, _) => Ok(None),
            (Plan::Remove, Step::Created { parent, .. }) => {
                match tree::remove(&self.spot(place)?) {
                    Ok(()) => Ok(Some(format!("removed {shown}"))),
                    Err(Fault::NotEmpty | Fault::Exists) if *parent => {
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
                let (back, away) = (self.spot(from)?, self.spot(to)?);
                write::rename(away.dir(), away.name(), back.dir(), back.name(), false)?;
                if let Some(before) = replaced {
                    self.restore(to, before)?;
                }
                Ok(Some(format!("moved {shown} back to {}", from.path.display())))
            }
            (Plan::Restore | Plan::MoveBack, Step::Created { .. }) => Ok(None),
        }
    }

    fn restore(&self, place: &Place, before: &Snapshot) -> Result<(), Fault> {
        let mut spot = self.spot(place)?;
        spot.make_parents()?;
        if spot.node == Some(Node::Dir) && !matches!(before, Snapshot::Dir { .. }) {
            return Err(Fault::IsDir);
        }
        if spot.node.is_some_and(|n| n != Node::Dir) && matches!(before, Snapshot::Dir { .. }) {
            rustix::fs::unlinkat(spot.dir(), spot.name(), AtFlags::empty())?;
            spot.node = None;
        }
        before.restore(&spot, |sha256| Ok(self.locked.content(sha256)?))
    }

    fn restore_modes(&self) -> Result<(), Fault> {
        for step in &self.entry.steps {
            if let Step::Removed { place, before: before @ Snapshot::Dir { .. } } = step {
                before.restore_mode(&self.spot(place)?)?;
            }
        }
        Ok(())
    }

    fn spot(&self, place: &Place) -> Result<Spot, Fault> {
        self.roots.resolve_kept(&place.root, &place.path)
    }

    fn now(&self, place: &Place) -> Result<Option<Snapshot>, String> {
        let taken = self.spot(place).and_then(|spot| {
            if matches!(spot.node, Some(Node::Special(_))) {
                return Err(Fault::Changed);
            }
            Snapshot::take(&spot, &CancellationToken::new())
        });
        match taken {
            Ok(snapshot) => Ok(snapshot),
            Err(Fault::NotFound) => Ok(None),
            // A file stands where a folder of the path was; by force it gives way to that folder.
            Err(Fault::NotDir) if self.force => Ok(None),
            Err(fault) => Err(self.blocked(place, &fault)),
        }
    }

    fn changed(&self, place: &Place) -> String {
        format!(
            "\"{}\" cannot be undone: {} was changed since. Undo with force to overwrite that change.",
            self.entry.summary,
            place.path.display()
        )
    }

    fn blocked(&self, place: &Place, fault: &Fault) -> String {
        match fault {
            Fault::Outside => format!(
                "\"{}\" cannot be undone: {} is not a root of this workspace now.",
                self.entry.summary,
                place.root.display()
            ),
            Fault::Changed | Fault::NotDir => self.changed(place),
            fault => format!(
                "\"{}\" cannot be undone: {}: {fault}.",
                self.entry.summary,
                place.path.display()
            ),
        }
    }
}

fn made(step: &Step) -> Option<&Place> {
    match step {
        Step::Created { place, .. } => Some(place),
        _ => None,
    }
}
