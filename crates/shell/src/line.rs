//! What a command line comes to.

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Programs that were looked past, outermost first.
    pub past: Vec<String>,
    /// Whether an allow rule may see it: as it stands, or past timeout, time, nice, nohup, stdbuf, command and bare xargs only. The others
    /// are for deny and ask rules.
    pub for_allow: bool,
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

/// Takes a command line apart. It never fails: what is not understood is said in [`Line::fault`].
#[must_use]
pub fn parse(line: &str) -> Line {
    let fault = Fault { at: 0, what: "not taken apart yet".to_owned() };
    let _ = line;
    Line { segments: Vec::new(), fault: Some(fault) }
}
