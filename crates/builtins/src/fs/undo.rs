//! Undo: reverses changes, newest first, and stores the data for redo.

use toolcrib_core::CancellationToken;

use super::reversal::{Direction, Reversal};
use super::roots::Roots;
use super::undo_journal::{Entry, Journal, JournalError, JournalLock};

/// The result of an undo or a redo.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoReport {
    /// The changes that were undone or redone, in this order.
    pub done: Vec<UndoneEntry>,
    /// The change at which it stopped, and the reason as a sentence.
    pub refused: Option<(Entry, String)>,
}

/// One change that was undone or redone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneEntry {
    /// The change.
    pub entry: Entry,
    /// The steps taken, one line each; empty if nothing had to be done.
    pub did: Vec<String>,
}

impl Journal {
    /// Undoes the changes with these numbers, newest first, and moves them from the journal to the
    /// changes that can be redone. It stops at the first change that cannot be undone because a
    /// file was changed since or its former content was not stored. With `force`, it overwrites
    /// later changes and skips a change without stored content.
    ///
    /// # Errors
    /// [`JournalError::Gone`] if one of the numbers is not in the journal: then nothing is undone.
    /// Other [`JournalError`]s when the journal cannot be read or written. A refusal is part of the
    /// report.
    pub fn undo(
        &self,
        roots: &Roots,
        ids: &[u64],
        force: bool,
    ) -> Result<UndoReport, JournalError> {
        let locked = self.lock(&CancellationToken::new())?;
        let mut left = locked.list()?;
        if let Some(gone) = ids.iter().find(|id| !left.iter().any(|entry| entry.id == **id)) {
            return Err(JournalError::Gone(*gone));
        }
        let chosen = left.iter().filter(|entry| ids.contains(&entry.id)).cloned();
        let mut report = UndoReport::default();
        for entry in chosen.collect::<Vec<_>>() {
            match undo_one(roots, &locked, &entry, &left, force)? {
                Ok(did) => {
                    left.retain(|other| other.id != entry.id);
                    report.done.push(UndoneEntry { entry, did });
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

/// Undoes one entry; the inner error says why it was refused.
fn undo_one(
    roots: &Roots,
    locked: &JournalLock<'_>,
    entry: &Entry,
    others: &[Entry],
    force: bool,
) -> Result<Result<Vec<String>, String>, JournalError> {
    let did = match &entry.not_undoable {
        Some(reason) if force => vec![format!("passed over \"{}\": {reason}", entry.summary)],
        Some(reason) => {
            return Ok(Err(format!("\"{}\" cannot be undone: {reason}.", entry.summary)));
        }
        None => {
            let attempt =
                Reversal { roots, locked, entry, others, force, direction: Direction::Undo };
            let plan = match attempt.plan() {
                Ok(plan) => plan,
                Err(reason) => return Ok(Err(reason)),
            };
            // Record the undo before the files change. A crash in between leaves both the entry and
            // the record, and undo and redo then skip the steps that are already done.
            locked.record_undone(entry, plan.inverse.clone(), plan.lost.clone())?;
            match attempt.apply(&plan) {
                Ok(did) => did,
                Err(reason) => return Ok(Err(reason)),
            }
        }
    };
    locked.reserve_number(entry.id)?;
    locked.forget(entry.id)?;
    Ok(Ok(did))
}
