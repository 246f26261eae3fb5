//! Changes by a program: compares the workspace before and after it, and writes the journal entry
//! that undoes the difference.
//!
//! Changes that other calls recorded meanwhile are excluded. Changes that a person or a program
//! outside of Toolcrib makes meanwhile cannot be distinguished and are attributed to the program.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolcrib_core::CancellationToken;

use super::super::error::FsErrorKind;
use super::super::roots::Roots;
use super::super::snapshot::{RootedPath, Snapshot};
use super::super::undo_journal::{ENTRY_BYTES, Step};
use super::super::workspace::Workspace;
use super::files_before_program::{Contents, MAX_FILE, MAX_TOTAL};
use super::scan::{FileMark, Mark, Scan};

/// Maximum changed paths that one entry undoes; its record stays below 1 MB.
const MAX_STEPS: usize = 2_000;
/// Number of paths that the summary of an entry names.
const NAMED: usize = 4;

/// The workspace before a program.
#[derive(Debug)]
pub(crate) struct ProgramChanges {
    before: Scan,
    contents: Arc<Contents>,
    /// Number of the newest journal entry.
    newest: u64,
}

/// The change of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change<'a> {
    Created,
    Changed(&'a Mark),
    Removed(&'a Mark),
}

/// The steps of an entry, and the changes that no step can undo.
#[derive(Debug, Default)]
struct Recorded {
    removed: Vec<Step>,
    others: Vec<Step>,
    done: Vec<String>,
    left_out: Vec<String>,
    /// Bytes that were hashed so far.
    hashed: u64,
}

impl ProgramChanges {
    /// Scans the workspace before a program starts; `None` without a journal, or if the workspace
    /// exceeds the limits of a scan.
    pub(crate) fn begin(workspace: &Workspace) -> Option<Self> {
        let (journal, mut former) = (workspace.journal()?, workspace.files_before_program()?);
        let before = Scan::of(workspace.roots(), &CancellationToken::new())?;
        let contents = former.refresh(workspace.roots(), &before).ok()?;
        let newest = journal.list().ok()?.first().map_or(0, |entry| entry.id);
        Some(Self { before, contents, newest })
    }

    /// Records the changes since the scan under the name of the program. If the entry cannot be
    /// written, the program's caller is not affected.
    pub(crate) fn record(&self, workspace: &Workspace, program: &str) {
        let never = CancellationToken::new();
        let Some(after) = Scan::of(workspace.roots(), &never) else { return };
        let changes = self.changes(&after);
        if changes.is_empty() {
            return;
        }
        let _ = self.record_changes(workspace, program, &changes, &never);
    }

    fn changes<'a>(&'a self, after: &'a Scan) -> Vec<(&'a RootedPath, Change<'a>)> {
        let mut changes = Vec::new();
        for (place, now) in &after.marks {
            match self.before.marks.get(place) {
                None => changes.push((place, Change::Created)),
                Some(before) if !self.is_same(before, now) => {
                    changes.push((place, Change::Changed(before)));
                }
                Some(_) => {}
            }
        }
        let gone = self.before.marks.iter().filter(|(place, _)| !after.marks.contains_key(place));
        changes.extend(gone.map(|(place, mark)| (place, Change::Removed(mark))));
        changes
    }

    fn is_same(&self, before: &Mark, now: &Mark) -> bool {
        match (before, now) {
            (Mark::File(before), Mark::File(now)) => before == now && self.before.is_sure(before),
            // Modes of folders are not recorded, as with file tools.
            (Mark::Dir { .. }, Mark::Dir { .. }) => true,
            (before, now) => before == now,
        }
    }

    fn record_changes(
        &self,
        workspace: &Workspace,
        program: &str,
        changes: &[(&RootedPath, Change<'_>)],
        never: &CancellationToken,
    ) -> Result<(), FsErrorKind> {
        let transaction = workspace.begin(never)?;
        let Some(journal) = workspace.journal() else { return Ok(()) };
        let entries = journal.list()?;
        let theirs: BTreeSet<&RootedPath> = entries
            .iter()
            .filter(|entry| entry.id > self.newest)
            .flat_map(|entry| entry.steps.iter().flat_map(Step::places))
            .collect();
        let mut recorded = Recorded::default();
        for (place, change) in changes.iter().filter(|(place, _)| !theirs.contains(place)) {
            recorded.add(self, workspace.roots(), place, *change);
        }
        let Recorded { mut removed, others, done, left_out, .. } = recorded;
        // Undo processes steps backwards: it removes new paths, then restores folders before their
        // content.
        removed.reverse();
        let steps: Vec<Step> = removed.into_iter().chain(others).collect();
        let is_too_long = steps.len() > MAX_STEPS;
        let (steps, done, left_out) = match is_too_long {
            true => (Vec::new(), Vec::new(), done.into_iter().chain(left_out).collect()),
            false => (steps, done, left_out),
        };
        // Record the changes that cannot be undone first. They would otherwise be the newest entry
        // and block the undo of the others.
        if !left_out.is_empty() {
            let why = if is_too_long {
                format!("a program that changes more than {MAX_STEPS} paths is not undone")
            } else {
                format!(
                    "the former contents of these paths were not kept: of a file with more than {} KB, of more than {} MB in all, or of a path that became another kind of entry",
                    MAX_FILE / 1024,
                    MAX_TOTAL / (1024 * 1024)
                )
            };
            transaction.record_made(summary(program, &left_out), Vec::new(), Some(why))?;
        }
        if !steps.is_empty() {
            for sha256 in steps.iter().filter_map(Step::former_content) {
                let former =
                    workspace.files_before_program().and_then(|former| former.load(sha256));
                transaction.keep_former(sha256, &former.ok_or(FsErrorKind::Changed)?)?;
            }
            transaction.record_made(summary(program, &done), steps, None)?;
        }
        Ok(())
    }

    /// Returns the state of a path before the program, if its content is known.
    fn snapshot_before(&self, place: &RootedPath, mark: &Mark) -> Option<Snapshot> {
        Some(match mark {
            Mark::File(FileMark { mode, .. }) => {
                Snapshot::File { sha256: self.contents.get(place)?.sha256.clone(), mode: *mode }
            }
            Mark::Link { target } => Snapshot::Link { target: target.clone() },
            Mark::Dir { mode } => Snapshot::Dir { mode: *mode },
        })
    }
}

impl Recorded {
    fn add(
        &mut self,
        changes: &ProgramChanges,
        roots: &Roots,
        place: &RootedPath,
        change: Change<'_>,
    ) {
        let shown = place.path.display();
        let (before, did) = match change {
            Change::Created => (None, format!("created {shown}")),
            Change::Changed(mark) => {
                (changes.snapshot_before(place, mark), format!("changed {shown}"))
            }
            Change::Removed(mark) => {
                let did = format!("removed {shown}");
                match changes.snapshot_before(place, mark) {
                    Some(before) => {
                        self.removed.push(Step::Removed { place: place.clone(), before });
                        self.done.push(did);
                    }
                    None => self.left_out.push(did),
                }
                return;
            }
        };
        let after = self.snapshot_after(roots, place);
        let place = place.clone();
        let step = match (before, after) {
            (Some(before), Some(after)) if before.matches(&after) => return,
            (Some(before), Some(after)) if is_same_kind(&before, &after) => {
                Some(Step::Replaced { place, before, after })
            }
            (None, Some(after)) if change == Change::Created => {
                // A folder may contain files that are not scanned; undo then keeps the folder.
                let parent = matches!(after, Snapshot::Dir { .. });
                Some(Step::Created { place, after, parent })
            }
            _ => None,
        };
        match step {
            Some(step) => {
                self.others.push(step);
                self.done.push(did);
            }
            None => self.left_out.push(did),
        }
    }

    /// Returns the current state of a path; `None` if it no longer exists or is too large to be
    /// hashed.
    fn snapshot_after(&mut self, roots: &Roots, place: &RootedPath) -> Option<Snapshot> {
        let spot = roots.resolve_in_root(&place.root, &place.path).ok()?;
        self.hashed += super::super::bounded_read::size(&spot.stat().ok()?);
        if self.hashed > ENTRY_BYTES {
            return None;
        }
        Snapshot::capture(&spot, &CancellationToken::new()).ok()?
    }
}

fn is_same_kind(before: &Snapshot, after: &Snapshot) -> bool {
    std::mem::discriminant(before) == std::mem::discriminant(after)
}

/// Describes the change in one line.
fn summary(program: &str, did: &[String]) -> String {
    let named = did.get(..NAMED.min(did.len())).unwrap_or_default().join(", ");
    match did.len().saturating_sub(NAMED) {
        0 => format!("{program}: {named}"),
        more => format!("{program}: {named} and {more} more"),
    }
}
