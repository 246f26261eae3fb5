//! What the grammar finds in a line, before anybody reads it.

use std::collections::HashSet;

use crate::line::{Block, Fault, Word};
use crate::token::Value;

/// What a part is.
#[derive(Debug)]
pub(crate) enum What {
    /// A program with its arguments.
    Command(Vec<Value>),
    /// Variables that are set, or an expansion that belongs to no command.
    Assignment,
    /// A file that is opened.
    Redirection { writes: bool, target: Word },
}

/// A part of a line.
#[derive(Debug)]
pub(crate) struct Part {
    /// Where it begins in the whole line.
    pub(crate) at: usize,
    /// As it is written.
    pub(crate) text: String,
    pub(crate) what: What,
    pub(crate) blocks: Vec<Block>,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) parts: Vec<Part>,
    /// The first thing that is odd.
    pub(crate) fault: Option<Fault>,
    /// Functions that the line defines.
    pub(crate) defined: HashSet<String>,
    /// Texts that some command gets as its input.
    pub(crate) inputs: Vec<String>,
}

impl Found {
    /// Notes what is odd; the first stays.
    pub(crate) fn doubt(&mut self, at: usize, what: &str) {
        self.fault.get_or_insert_with(|| Fault { at, what: what.to_owned() });
    }
}
