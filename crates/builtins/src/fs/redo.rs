//! Redo: makes undone changes again.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use toolcrib_core::{CancellationToken, Clock as _, SystemClock, defaults};

use super::reversal::{Direction, Reversal};
use super::roots::Roots;
use super::undo::{UndoReport, UndoneEntry};
use super::undo_journal::{Entry, Journal, JournalError, JournalLock, Step, blobs_of, read_record};

/// Subfolder of the journal for the records.
const PART: &str = "undone";

/// A change that was undone and can be redone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneChange {
    /// When it was undone, milliseconds since 1970.
    pub undone_at_ms: i64,
    /// The change with its original number; `not_undoable` says why it cannot be redone. Its steps
    /// are those of the undo: reversing them redoes the change.
    pub entry: Entry,
}

impl Journal {
    /// Lists the changes that can be redone, the last undone first: at most 50.
    ///
    /// # Errors
    /// [`JournalError`] when they cannot be read.
    pub fn undone(&self) -> Result<Vec<UndoneChange>, JournalError> {
        let ids = self.numbers(PART)?.into_iter();
        let read = ids.map(|id| read_record::<UndoneChange>(&self.record_path(PART, id)));
        let mut undone = read.collect::<Result<Vec<_>, _>>()?;
        // An undo of several changes takes the newest first, so the change that it undid last has
        // the lowest number.
        undone.sort_by_key(|change| (Reverse(change.undone_at_ms), change.entry.id));
        Ok(undone)
    }

    /// Redoes the undone changes with these numbers, the last undone first; each becomes the newest
    /// change of the journal. It stops at the first change that cannot be redone because a file was
    /// changed since, or because the content that the undo replaced was not stored. With `force`,
    /// it overwrites later changes.
    ///
    /// # Errors
    /// [`JournalError::Gone`] if one of the numbers is missing: then nothing is redone. Other
    /// [`JournalError`]s when the journal cannot be read or written. A refusal is part of the
    /// report.
    pub fn redo(
        &self,
        roots: &Roots,
        ids: &[u64],
        force: bool,
    ) -> Result<UndoReport, JournalError> {
        let locked = self.lock(&CancellationToken::new())?;
        let undone = self.undone()?;
        if let Some(gone) =
            ids.iter().find(|id| !undone.iter().any(|change| change.entry.id == **id))
        {
            return Err(JournalError::Gone(*gone));
        }
        let mut report = UndoReport::default();
        for change in undone.into_iter().filter(|change| ids.contains(&change.entry.id)) {
            match redo_one(roots, &locked, &change, force)? {
                Ok(done) => report.done.push(done),
                Err(reason) => {
                    report.refused = Some((change.entry, reason));
                    break;
                }
            }
        }
        Ok(report)
    }
}

/// Redoes one change; the inner error says why it was refused.
fn redo_one(
    roots: &Roots,
    locked: &JournalLock<'_>,
    change: &UndoneChange,
    force: bool,
) -> Result<Result<UndoneEntry, String>, JournalError> {
    let undo = &change.entry;
    if let Some(reason) = &undo.not_undoable {
        return Ok(Err(format!("\"{}\" cannot be redone: {reason}.", undo.summary)));
    }
    let others = locked.list()?;
    let attempt =
        Reversal { roots, locked, entry: undo, others: &others, force, direction: Direction::Redo };
    let plan = match attempt.plan() {
        Ok(plan) => plan,
        Err(reason) => return Ok(Err(reason)),
    };
    let id = if others.iter().any(|other| other.id == undo.id) {
        // An interrupted undo left the entry, which still undoes the complete change.
        undo.id
    } else {
        let (summary, origin) = (undo.summary.clone(), undo.made_by.clone());
        locked.record(summary, origin, plan.inverse.clone(), plan.lost.clone())?
    };
    match attempt.apply(&plan) {
        Ok(did) => {
            locked.forget_undone(change)?;
            let entry = locked.list()?.into_iter().find(|entry| entry.id == id);
            let entry = entry.unwrap_or_else(|| change.entry.clone());
            Ok(Ok(UndoneEntry { entry, did }))
        }
        Err(reason) => Ok(Err(reason)),
    }
}

impl JournalLock<'_> {
    /// Records an undo before it is made; drops the oldest records beyond 50.
    pub(super) fn record_undone(
        &self,
        entry: &Entry,
        inverse: Vec<Step>,
        not_redoable: Option<String>,
    ) -> Result<(), JournalError> {
        let undone = self.journal.undone()?;
        let nothing_was_done = inverse.is_empty() && not_redoable.is_none();
        // An interrupted undo has already recorded the contents before it.
        if nothing_was_done || undone.iter().any(|other| other.entry.id == entry.id) {
            return Ok(());
        }
        let entry = Entry { not_undoable: not_redoable, steps: inverse, ..entry.clone() };
        let path = self.journal.record_path(PART, entry.id);
        self.put_record(&path, &UndoneChange { undone_at_ms: SystemClock.now_ms(), entry })?;
        for old in undone.iter().skip(defaults::UNDO_ENTRIES - 1) {
            self.forget_undone(old)?;
        }
        Ok(())
    }

    fn forget_undone(&self, change: &UndoneChange) -> Result<(), JournalError> {
        let path = self.journal.record_path(PART, change.entry.id);
        self.remove_record(&path, &blobs_of(&change.entry.steps))
    }

    /// Returns the names of the blobs that redo needs.
    pub(super) fn blobs_of_undone(&self) -> Result<Vec<String>, JournalError> {
        let ids = self.journal.numbers(PART)?.into_iter();
        // The blobs of a damaged record are unknown.
        let undone = ids
            .filter_map(|id| read_record::<UndoneChange>(&self.journal.record_path(PART, id)).ok());
        Ok(undone.flat_map(|change| blobs_of(&change.entry.steps)).collect())
    }
}
