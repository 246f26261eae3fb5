//! Tokens: words as the grammar finds them, with quoted characters and expansions marked.
#![deny(clippy::indexing_slicing)]

use crate::command_line::Word;

/// One character of a word, or an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Atom {
    /// An unquoted character, which may be part of a pattern or of a brace expansion.
    Bare(char),
    /// A quoted character.
    Quoted(char),
    /// Empty quotes: the word exists even if it is empty.
    Empty,
    /// An expansion, as byte offsets in the source.
    Expansion { at: usize, end: usize, quoted: bool },
}

/// A word as written.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) at: usize,
    pub(crate) end: usize,
    /// `None` if nothing is quoted or expanded, so that the text as written is the word.
    pub(crate) atoms: Option<Vec<Atom>>,
}

/// A word after quote removal.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) word: Word,
    /// For an unknown word: its words if no variable is set and no command writes any output.
    pub(crate) literal: Vec<String>,
    /// Whether it contains an expansion other than a pathname pattern.
    pub(crate) expands: bool,
}

impl Value {
    fn known(text: String) -> Self {
        Self { word: Word::Known(text), literal: Vec::new(), expands: false }
    }

    /// Returns the text, if it is known.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.word {
            Word::Known(text) => Some(text),
            Word::Unknown(_) => None,
        }
    }
}

impl Token {
    pub(crate) fn written<'s>(&self, src: &'s str) -> &'s str {
        src.get(self.at..self.end).unwrap_or_default()
    }

    /// Returns the word if nothing in it is quoted or expanded, because only such a word can be a
    /// reserved word. Continued lines are joined.
    pub(crate) fn bare(&self, src: &str) -> Option<String> {
        let Some(atoms) = &self.atoms else { return Some(self.written(src).to_owned()) };
        let bare = |atom: &Atom| match atom {
            Atom::Bare(c) => Some(*c),
            _ => None,
        };
        atoms.iter().map(bare).collect()
    }

    /// Removes the quotes, without brace expansion.
    pub(crate) fn value(&self, src: &str) -> Value {
        match &self.atoms {
            None => Value::known(self.written(src).to_owned()),
            Some(atoms) => {
                let mut value = value(atoms, src);
                if let Word::Unknown(text) = &mut value.word {
                    self.written(src).clone_into(text);
                }
                value
            }
        }
    }

    /// Returns whether a part of it is quoted.
    pub(crate) fn is_quoted(&self) -> bool {
        let quoted = |atom: &Atom| match atom {
            Atom::Bare(_) => false,
            Atom::Expansion { quoted, .. } => *quoted,
            Atom::Quoted(_) | Atom::Empty => true,
        };
        self.atoms.as_deref().unwrap_or_default().iter().any(quoted)
    }

    /// Returns whether it contains an expansion.
    pub(crate) fn expands(&self) -> bool {
        let atoms = self.atoms.as_deref().unwrap_or_default();
        atoms.iter().any(|atom| matches!(atom, Atom::Expansion { .. }))
    }
}

/// Removes the quotes.
pub(crate) fn value(atoms: &[Atom], src: &str) -> Value {
    let mut literal = String::with_capacity(atoms.len());
    let mut written = String::new();
    let (mut expands, mut stays, mut splits) = (false, false, false);
    for atom in atoms {
        match *atom {
            Atom::Bare(c) | Atom::Quoted(c) => {
                stays = true;
                literal.push(c);
                written.push(c);
            }
            Atom::Empty => stays = true,
            Atom::Expansion { at, end, quoted } => {
                expands = true;
                stays |= quoted;
                let text = src.get(at..end).unwrap_or_default();
                written.push_str(text);
                if let Some(default) = default(text) {
                    (stays, splits) = (true, true);
                    literal.extend(default.chars().filter(|c| !"'\"\\".contains(*c)));
                }
            }
        }
    }
    if !expands && !is_pattern(atoms) {
        return Value::known(literal);
    }
    let literal = match (stays, splits) {
        (_, true) => literal.split_ascii_whitespace().map(ToOwned::to_owned).collect(),
        (true, false) => vec![literal],
        (false, false) => Vec::new(),
    };
    Value { word: Word::Unknown(written), literal, expands }
}

/// Returns the value of `${NAME:-TEXT}` if the variable is not set.
fn default(text: &str) -> Option<&str> {
    let body = text.strip_prefix("${")?.strip_suffix('}')?;
    let after = body.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    after.strip_prefix(':').unwrap_or(after).strip_prefix(['-', '='])
}

/// Returns whether pathname expansion may change it.
fn is_pattern(atoms: &[Atom]) -> bool {
    let mut open = false;
    atoms.iter().any(|atom| match atom {
        Atom::Bare('*' | '?') => true,
        Atom::Bare('[') => {
            open = true;
            false
        }
        Atom::Bare(']') | Atom::Quoted(']') => open,
        _ => false,
    })
}
