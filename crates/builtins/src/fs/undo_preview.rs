//! Preview of an undo or a redo: its effect on each file, with a diff.

use std::collections::BTreeMap;

use similar::TextDiff;
use toolcrib_core::CancellationToken;

use super::bounded_read;
use super::error::FsErrorKind;
use super::resolve::NodeKind;
use super::roots::Roots;
use super::snapshot::{RootedPath, Snapshot};
use super::undo_journal::{Entry, Journal, JournalError, JournalLock, Step};

/// Largest file for which a diff is computed, in bytes: the limit of `edit_file`.
const DIFF_BYTES: u64 = 10 * 1024 * 1024;
/// Context lines around a change, as in `diff -u`.
const CONTEXT_LINES: usize = 3;
/// Maximum lines of a diff; further lines are only counted.
const DIFF_LINES: usize = 200;
/// Maximum files with a diff; further files are named without one.
const FILES_WITH_DIFF: usize = 20;

/// The effect on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoAct {
    /// The path is removed.
    Remove,
    /// The path is restored.
    Restore,
    /// Its content is replaced.
    Change,
    /// The path is moved.
    Move,
}

/// The effect of an undo or a redo on one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUndo {
    /// The path below its root.
    pub path: String,
    /// The effect on the path.
    pub act: UndoAct,
    /// The path from which it would be moved.
    pub from: Option<String>,
    /// Unified diff from the current to the resulting content, at most 200 lines; `None` for
    /// folders, links and moves, for files that are not text or larger than 10 MB, and after 20
    /// files.
    pub diff: Option<String>,
}

/// The resulting content of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Nothing,
    Stored(Snapshot),
    /// The current content of another path.
    MovedFrom(RootedPath),
}

impl Journal {
    /// Computes the effect of reversing these entries, in order, on each path. It skips the checks
    /// of an undo: a file that was changed since is compared in its current state.
    ///
    /// # Errors
    /// [`JournalError`] when the journal cannot be read.
    pub fn preview(&self, roots: &Roots, entries: &[Entry]) -> Result<Vec<FileUndo>, JournalError> {
        let locked = self.lock(&CancellationToken::new())?;
        let mut places: BTreeMap<RootedPath, Content> = BTreeMap::new();
        for step in entries.iter().flat_map(|entry| entry.steps.iter().rev()) {
            reverse(step, &mut places);
        }
        let preview = Preview { roots, locked: &locked };
        let moved: Vec<RootedPath> = places
            .values()
            .filter_map(|content| match content {
                Content::MovedFrom(from) => Some(from.clone()),
                _ => None,
            })
            .collect();
        let mut files = Vec::new();
        for (place, content) in &places {
            if *content == Content::Nothing && moved.contains(place) {
                continue;
            }
            let with_diff = files.len() < FILES_WITH_DIFF;
            files.extend(preview.file(place, content, with_diff));
        }
        Ok(files)
    }
}

/// Applies the reverse of a step to the resulting contents.
fn reverse(step: &Step, places: &mut BTreeMap<RootedPath, Content>) {
    match step {
        Step::Created { place, .. } => {
            places.insert(place.clone(), Content::Nothing);
        }
        Step::Replaced { place, before, .. } | Step::Removed { place, before } => {
            places.insert(place.clone(), Content::Stored(before.clone()));
        }
        Step::Moved { from, to, replaced, .. } => {
            let held = replaced.clone().map_or(Content::Nothing, Content::Stored);
            let moved = places.insert(to.clone(), held);
            let moved = moved.unwrap_or_else(|| Content::MovedFrom(to.clone()));
            places.insert(from.clone(), moved);
        }
    }
}

struct Preview<'a> {
    roots: &'a Roots,
    locked: &'a JournalLock<'a>,
}

impl Preview<'_> {
    /// Returns the effect on a path; `None` if there is none.
    fn file(&self, place: &RootedPath, content: &Content, with_diff: bool) -> Option<FileUndo> {
        let path = place.path.display().to_string();
        let is_there = self.node(place).is_some();
        let (act, after) = match content {
            Content::MovedFrom(from) if from == place => return None,
            Content::MovedFrom(from) => {
                let from = Some(from.path.display().to_string());
                return Some(FileUndo { path, act: UndoAct::Move, from, diff: None });
            }
            Content::Nothing if is_there => (UndoAct::Remove, None),
            Content::Nothing => return None,
            Content::Stored(Snapshot::Dir { .. }) if is_there => return None,
            Content::Stored(after) if is_there => (UndoAct::Change, Some(after)),
            Content::Stored(after) => (UndoAct::Restore, Some(after)),
        };
        let diff = if with_diff { self.diff(&path, place, after) } else { None };
        Some(FileUndo { path, act, from: None, diff })
    }

    fn node(&self, place: &RootedPath) -> Option<NodeKind> {
        self.roots.resolve_in_root(&place.root, &place.path).ok()?.node
    }

    fn diff(&self, path: &str, place: &RootedPath, after: Option<&Snapshot>) -> Option<String> {
        let now = match self.node(place) {
            None => String::new(),
            Some(NodeKind::File) => self.text_now(place).ok()??,
            Some(_) => return None,
        };
        let after = match after {
            None => String::new(),
            Some(Snapshot::File { sha256, .. }) => {
                String::from_utf8(self.locked.load_blob(sha256).ok()?).ok()?
            }
            Some(_) => return None,
        };
        Some(unified_diff(path, &now, &after))
    }

    /// Returns the text of a file; `None` if it is not UTF-8.
    fn text_now(&self, place: &RootedPath) -> Result<Option<String>, FsErrorKind> {
        let spot = self.roots.resolve_in_root(&place.root, &place.path)?;
        let (bytes, _) = bounded_read::read_bounded(&spot, DIFF_BYTES)?;
        Ok(String::from_utf8(bytes).ok())
    }
}

fn unified_diff(path: &str, now: &str, after: &str) -> String {
    let compared = TextDiff::from_lines(now, after);
    let mut unified = compared.unified_diff();
    let text = unified.context_radius(CONTEXT_LINES).header(path, path).to_string();
    let rest = text.lines().count().saturating_sub(DIFF_LINES);
    if rest == 0 {
        return text;
    }
    let mut shown: String = text.split_inclusive('\n').take(DIFF_LINES).collect();
    shown.push_str(&format!("… {rest} more lines\n"));
    shown
}
