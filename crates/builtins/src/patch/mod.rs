//! Diffs: from the text that somebody wrote to hunks, from hunks to the places where they fit, from there to a new content.
//!
//! Nothing is believed: a hunk is applied only where every context and removed line stands, whatever the line numbers say.
#![deny(clippy::indexing_slicing)]

mod apply;
mod locate;
mod parse;
pub(crate) mod syntax;

#[cfg(test)]
mod tests;

pub use apply::{Applied, apply};
pub use locate::Misfit;
pub use parse::parse;

/// Bytes of a diff.
pub const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Hunks of a diff, of all files together.
pub const MAX_HUNKS: usize = 2000;
/// Files of a diff.
pub const MAX_FILES: usize = 100;
/// Lines by which a hunk may stand elsewhere than its header says while it also fits in other places (SPEC 6.6: 3 lines).
pub const FUZZ: usize = 3;

/// What a diff does with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file, as the diff names it, without `a/` and `b/`; `None` = the diff names none.
    pub path: Option<String>,
    /// Whether the diff says that the file is new (`--- /dev/null`).
    pub is_new: bool,
    /// The changes, in the order of the text.
    pub hunks: Vec<Hunk>,
}

/// One changed place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line of the old file that it is about, from 1, as its header says; `None` = not said.
    pub line: Option<usize>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Line of the diff where it begins, from 1.
    pub at: usize,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it says of the file.
    pub op: Op,
    /// The text, without its end.
    pub text: String,
    /// Whether the diff says that the file ends behind it without a line end.
    pub is_unended: bool,
}

/// What a line of a hunk says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Stands there and stays.
    Keep,
    /// Stands there and goes.
    Remove,
    /// Comes.
    Add,
}

impl Hunk {
    /// The lines that must stand in the file.
    pub fn old(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.op != Op::Add)
    }
}

/// Why a text is no diff that can be read: the line, from 1, and a fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the diff: {what}")]
pub struct ParseError {
    /// The line of the text.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}
