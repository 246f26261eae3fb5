//! What a command line comes to.

use std::sync::Arc;

/// A word after quoting is undone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Word {
    /// Exactly this text.
    Known(String),
    /// Not known before it runs: an expansion, or the names of files that a pattern finds. The text is the word as it is written.
    Unknown(String),
}

/// What a segment is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A program with its arguments.
    Command,
    /// Assignments without a program.
    Assignment,
    /// A file that is opened for a command; `/dev/null` and the copying of descriptors (`2>&1`) are none.
    Redirection {
        /// Whether the file may be changed by it.
        writes: bool,
        /// The file.
        target: Word,
    },
}

/// Why no allow rule can cover a segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Block {
    /// Variables are set for the program, or for what follows.
    Assignment(String),
    /// A word is not known before it runs: an expansion.
    Expansion(String),
    /// The name of the program is not known before it runs.
    ComputedName(String),
    /// A file is written.
    Writes(String),
    /// The line, or this part of it, is not understood.
    Unparsed(String),
}

/// One way to read a command: as it stands, or as what a program in front of it would run.
///
/// Readings of one command share their words: a line of 200 KB may have a reading at every word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reading {
    program: Word,
    whole: Arc<[Word]>,
    args: usize,
    /// Programs that were looked past, outermost first.
    pub past: Arc<[String]>,
    /// Whether an allow rule may see it: as it stands, or past timeout, time, nice, nohup, stdbuf, command and bare xargs only. The others
    /// are for deny and ask rules.
    pub for_allow: bool,
}

impl Reading {
    /// A reading of a program with its arguments; `None` without words.
    #[must_use]
    pub fn new(words: &[Word], past: &[&str], for_allow: bool) -> Option<Self> {
        let past = past.iter().map(|name| (*name).to_owned()).collect();
        Self::at(&words.into(), 0, past, for_allow)
    }

    /// The words from `start` on; `None` if there are none.
    pub(crate) fn at(
        whole: &Arc<[Word]>,
        start: usize,
        past: Arc<[String]>,
        for_allow: bool,
    ) -> Option<Self> {
        let program = whole.get(start)?.clone();
        Some(Self { program, whole: whole.clone(), args: start.saturating_add(1), past, for_allow })
    }

    /// The same arguments after `skipped` of them, for another program.
    pub(crate) fn renamed(&self, program: Word, skipped: usize) -> Self {
        let args = self.args.saturating_add(skipped);
        Self { program, args, for_allow: false, ..self.clone() }
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Word {
        &self.program
    }

    /// Its arguments.
    #[must_use]
    pub fn args(&self) -> &[Word] {
        self.whole.get(self.args..).unwrap_or_default()
    }

    /// The program and its arguments.
    pub fn words(&self) -> impl DoubleEndedIterator<Item = &Word> + Clone {
        std::iter::once(&self.program).chain(self.args())
    }
}

/// One part of a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Segment {
    /// As it is written.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// The ways to read it; none unless it is a command.
    pub readings: Vec<Reading>,
    /// Why no allow rule can cover it; empty = one can.
    pub blocks: Vec<Block>,
}

/// Why a line is not wholly understood.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fault {
    /// Where: bytes from the beginning.
    pub at: usize,
    /// What is odd about it, in a few words.
    pub what: String,
}

/// A command line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Line {
    /// Its parts, in the order in which they are written.
    pub segments: Vec<Segment>,
    /// Why it is not wholly understood; `None` = it is.
    pub fault: Option<Fault>,
}
