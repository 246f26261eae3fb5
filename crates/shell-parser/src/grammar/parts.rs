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

/// The source of a command's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Input {
    /// No redirection in the line.
    #[default]
    Inherited,
    /// The line contains its text, or names the file.
    Known,
    /// The line contains its text, with expansions that a shell performs and another interpreter
    /// does not.
    Expanded,
    /// The output of a program, or a file that is not known before the line runs.
    Unknown,
}

impl Input {
    /// This input, or `outer` if it is not redirected.
    pub(crate) fn or(self, outer: Self) -> Self {
        if self == Self::Inherited { outer } else { self }
    }
}

/// A part of a line.
#[derive(Debug)]
pub(crate) struct Part {
    /// Offset in the whole line.
    pub(crate) at: usize,
    /// The text as written.
    pub(crate) text: String,
    pub(crate) what: PartKind,
    pub(crate) input: Input,
    pub(crate) blocks: Vec<AllowBlocker>,
}

/// All results of the grammar.
#[derive(Debug, Default)]
pub(crate) struct ParsedParts {
    pub(crate) parts: Vec<Part>,
    /// The first fault.
    pub(crate) fault: Option<ParseFault>,
    /// Functions that the line defines.
    pub(crate) defined: HashSet<String>,
    /// Texts that a command receives as input.
    pub(crate) inputs: Vec<String>,
    /// Whether a here-document contains expansions.
    pub(crate) expands_input: bool,
}

impl ParsedParts {
    /// Marks all here-documents, because the owner of each is not stored: one with expansions
    /// affects all.
    pub(crate) fn mark_expanded_inputs(&mut self) {
        if self.expands_input {
            let known = self.parts.iter_mut().filter(|part| part.input == Input::Known);
            known.for_each(|part| part.input = Input::Expanded);
        }
    }

    /// Records a fault; only the first one is stored.
    pub(crate) fn mark_unparsed(&mut self, at: usize, what: &str) {
        self.fault.get_or_insert_with(|| ParseFault { at, what: what.to_owned() });
    }
}
