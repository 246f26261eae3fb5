//! The result of parsing: a command line with its segments, interpretations and faults.

use std::sync::Arc;

/// A word after quote removal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Word {
    /// Exactly this text.
    Known(String),
    /// Not known before the command runs: an expansion, or a pattern that matches file names. The
    /// text is the word as written.
    Unknown(String),
}

/// Kind of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A program with its arguments.
    Command,
    /// Assignments without a program.
    Assignment,
    /// A file that is opened for a command. `/dev/null` and duplicated descriptors (`2>&1`) are not
    /// segments.
    Redirection {
        /// Whether the redirection can change the file.
        writes: bool,
        /// The file.
        target: Word,
    },
}

/// The reason why no allow rule can cover a segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AllowBlocker {
    /// Variables are set for the program or for later commands.
    Assignment(String),
    /// A word is not known before the command runs: an expansion.
    Expansion(String),
    /// The name of the program is not known before the command runs.
    ComputedName(String),
    /// The program that this interpreter runs comes from its input and is not known before the
    /// command runs.
    UnknownInput(String),
    /// A file is written.
    Writes(String),
    /// The line or this part of it was not parsed completely.
    Unparsed(String),
}

impl AllowBlocker {
    /// Number of characters of an abridged text: more than people see.
    const ABRIDGED_CHARS: usize = 240;

    /// Returns the same reason with the beginning of its text, for a reason that many segments
    /// share: full copies would cost the length of the text times the number of segments.
    pub(crate) fn abridged(&self) -> Self {
        let short = |text: &String| text.chars().take(Self::ABRIDGED_CHARS).collect();
        match self {
            Self::Assignment(text) => Self::Assignment(short(text)),
            Self::Expansion(text) => Self::Expansion(short(text)),
            Self::ComputedName(text) => Self::ComputedName(short(text)),
            Self::Writes(text) => Self::Writes(short(text)),
            Self::UnknownInput(text) => Self::UnknownInput(short(text)),
            Self::Unparsed(text) => Self::Unparsed(short(text)),
        }
    }
}

/// The effect of an own action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OwnActionKind {
    /// Runs another program, or code.
    Runs,
    /// Writes a file.
    Writes,
    /// Deletes data, or overwrites data that it cannot restore.
    Deletes,
}

/// An action of a program by an option, an operand or a language of the program: `find -delete`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OwnAction {
    /// Index of the word that shows the action (the program has index 0); the number of words if no
    /// word shows it because it comes from the program's input.
    pub word: usize,
    /// The effect.
    pub kind: OwnActionKind,
}

/// One interpretation of a command: as written, or as the command that a wrapper program runs.
///
/// Interpretations of one command share their words, because a line of 200 KB may have one at every
/// word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Interpretation {
    program: Word,
    whole: Arc<[Word]>,
    args: usize,
    /// Names of the wrapper programs that were skipped, outermost first.
    pub unwrapped: Arc<[String]>,
    /// Whether allow rules see it: true as written, or after timeout, time, nice, nohup, stdbuf,
    /// command or xargs without options. Other interpretations are for deny and ask rules only.
    pub for_allow: bool,
}

impl Interpretation {
    /// Creates the interpretation of a program with its arguments; `None` without words.
    #[must_use]
    pub fn new(words: &[Word], past: &[&str], for_allow: bool) -> Option<Self> {
        let past = past.iter().map(|name| (*name).to_owned()).collect();
        Self::from_word(&words.into(), 0, past, for_allow)
    }

    /// Returns the words from `start` on; `None` if there are none.
    pub(crate) fn from_word(
        whole: &Arc<[Word]>,
        start: usize,
        past: Arc<[String]>,
        for_allow: bool,
    ) -> Option<Self> {
        let program = whole.get(start)?.clone();
        Some(Self {
            program,
            whole: whole.clone(),
            args: start.saturating_add(1),
            unwrapped: past,
            for_allow,
        })
    }

    /// Returns the same arguments without the first `skipped`, for another program.
    pub(crate) fn with_program(&self, program: Word, skipped: usize) -> Self {
        let args = self.args.saturating_add(skipped);
        Self { program, args, for_allow: false, ..self.clone() }
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &Word {
        &self.program
    }

    /// Returns its arguments.
    #[must_use]
    pub fn args(&self) -> &[Word] {
        self.whole.get(self.args..).unwrap_or_default()
    }

    /// Returns the actions of the program by options, operands or a language of the program. Takes
    /// time linear in the words.
    #[must_use]
    pub fn own_actions(&self) -> Vec<OwnAction> {
        match &self.program {
            Word::Known(program) => {
                let name = program.rsplit('/').next().unwrap_or_default();
                crate::interpret::own_actions(name, self)
            }
            Word::Unknown(_) => Vec::new(),
        }
    }

    /// Returns the program and its arguments.
    pub fn words(&self) -> impl DoubleEndedIterator<Item = &Word> + Clone {
        std::iter::once(&self.program).chain(self.args())
    }
}

/// One part of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The text as written.
    pub text: String,
    /// Its kind.
    pub kind: Kind,
    /// The interpretations; empty unless it is a command.
    pub readings: Vec<Interpretation>,
    /// The reasons why no allow rule can cover it; empty if one can.
    pub blocks: Vec<AllowBlocker>,
}

/// The reason why a line was not parsed completely.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParseFault {
    /// Byte offset in the line.
    pub at: usize,
    /// Short description of the problem.
    pub what: String,
}

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CommandLine {
    /// Its parts, in the order in which they are written.
    pub segments: Vec<Segment>,
    /// The reason why it was not parsed completely; `None` if it was.
    pub fault: Option<ParseFault>,
}
