//! The parts of a line as the grammar finds them, before interpretation.

use std::collections::HashSet;

use crate::command_line::{AllowBlocker, ParseFault, Word};
use crate::token::Value;

/// Kind of a part.
#[derive(Debug)]
pub(crate) enum PartKind {
    /// A program with its arguments.
    Command(Vec<Value>),
    /// Variables that are set, or an expansion outside every command.
    Assignment,
    /// A file that is opened.
    Redirection { writes: bool, target: Word },
}

/// A part of a line.
#[derive(Debug)]
pub(crate) struct Part {
    /// Offset in the whole line.
    pub(crate) at: usize,
    /// The text as written.
    pub(crate) text: String,
    pub(crate) what: PartKind,
    pub(crate) blocks: Vec<AllowBlocker>,
}

/// Everything that the grammar found.
#[derive(Debug, Default)]
pub(crate) struct ParsedParts {
    pub(crate) parts: Vec<Part>,
    /// The first fault.
    pub(crate) fault: Option<ParseFault>,
    /// Functions that the line defines.
    pub(crate) defined: HashSet<String>,
    /// Texts that a command gets as its input.
    pub(crate) inputs: Vec<String>,
}

impl ParsedParts {
    /// Records a fault; the first one is kept.
    pub(crate) fn mark_unparsed(&mut self, at: usize, what: &str) {
        self.fault.get_or_insert_with(|| ParseFault { at, what: what.to_owned() });
    }
}
