//! Diffs: parses a text into hunks, locates the hunks in a file, and applies them.
//!
//! A hunk is applied only where every context and removed line matches; the line numbers in its
//! header are hints.
#![deny(clippy::indexing_slicing)]

mod apply;
mod locate_hunk;
mod parse;
pub(crate) mod syntax_check;

#[cfg(test)]
mod tests;

pub use apply::{Applied, apply};
pub use locate_hunk::HunkMismatch;
pub use parse::parse;

/// Largest diff, in bytes.
pub const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Maximum number of hunks of a diff, over all files.
pub const MAX_HUNKS: usize = 2000;
/// Maximum number of files of a diff.
pub const MAX_FILES: usize = 100;
/// How many lines a hunk may be away from the position in its header if it also fits elsewhere.
pub const FUZZ: usize = 3;

/// The changes of a diff to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file as the diff names it, without `a/` and `b/`; `None` if the diff has no name.
    pub path: Option<String>,
    /// Whether the diff creates the file (`--- /dev/null`).
    pub is_new: bool,
    /// The changes in order.
    pub hunks: Vec<Hunk>,
}

/// One changed position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line in the old file, from 1, according to the header; `None` if the header has none.
    pub line: Option<usize>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Line of the diff where the hunk begins, from 1.
    pub at: usize,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The role of the line.
    pub op: Op,
    /// The text without its line end.
    pub text: String,
    /// Whether the diff marks it as the last line of a file without a final line end.
    pub is_unended: bool,
}

/// The role of a line in a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Context: present before and after.
    Keep,
    /// Removed.
    Remove,
    /// Added.
    Add,
}

impl Hunk {
    /// Returns the lines that must be present in the old file.
    pub fn old(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.op != Op::Add)
    }
}

/// Why a text is not a readable diff: the line and a sentence fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the diff: {what}")]
pub struct ParseError {
    /// Line in the text, from 1.
    pub line: usize,
    /// The problem.
    pub what: String,
}
