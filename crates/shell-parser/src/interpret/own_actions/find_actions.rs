//! Finds the own actions of a command: applies the rows of the table to its words.
#![deny(clippy::indexing_slicing)]

use super::operand_rules;
use super::program_source;
use super::program_table::{Act, TableRow, rows};
use crate::command_line::{Interpretation, OwnAction, OwnActionKind, Word};
use crate::interpret::wrapper_options::command_start;
use crate::interpret::wrapper_table::{self, CommandPosition};

/// The shortest abbreviation of a long option, with its dashes: `--o` of `--output`.
pub(super) const MIN_ABBREVIATION: usize = 3;

/// Maximum number of words of a command that are searched for its subcommand.
const MAX_VERB: usize = 64;

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interpret) enum ActionValue<'w> {
    /// The option has no value.
    None,
    /// This text.
    Known(&'w str),
    /// Not known before the line runs; the text is as written.
    Unknown(&'w str),
}

/// An action, and the word that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interpret) struct FoundAction<'w> {
    /// Index among the arguments.
    pub(in crate::interpret) at: usize,
    pub(in crate::interpret) act: Act,
    pub(in crate::interpret) value: ActionValue<'w>,
}

/// Returns the comparable text of a word: an expansion hides only the end.
pub(super) fn text_of(word: &Word) -> &str {
    match word {
        Word::Known(text) => text,
        Word::Unknown(text) => text.trim_matches('"'),
    }
}

/// Converts a word to a value.
pub(super) fn value_of(word: Option<&Word>) -> ActionValue<'_> {
    match word {
        None => ActionValue::None,
        Some(Word::Known(text)) => ActionValue::Known(text),
        Some(Word::Unknown(text)) => ActionValue::Unknown(text),
    }
}

/// Returns the actions that the words of a command name; `name` is the program without a directory.
pub(crate) fn all_actions(name: &str, reading: &Interpretation) -> Vec<OwnAction> {
    let args = reading.args();
    let mut found: Vec<OwnAction> = Vec::new();
    for row in rows(name) {
        found.extend(table_actions(row, args).into_iter().filter_map(own_action));
        if operand_rules::reads_commands(row, args) {
            // No rule names a position after the last word.
            let word = args.len().saturating_add(1);
            found.push(OwnAction { word, kind: OwnActionKind::Runs });
        }
    }
    found.extend(wrapped_command(name, args));
    found
}

fn own_action(found: FoundAction<'_>) -> Option<OwnAction> {
    let kind = match found.act {
        Act::Command | Act::Code | Act::File | Act::Runs => OwnActionKind::Runs,
        Act::Output | Act::Folder | Act::Writes => OwnActionKind::Writes,
        Act::Deletes => OwnActionKind::Deletes,
    };
    let counts = match (found.act, found.value) {
        (Act::Output, ActionValue::Known(path)) => !is_no_file(path),
        (Act::Folder, ActionValue::Known(path)) => is_outside(path),
        (Act::Folder, ActionValue::None) => false,
        _ => true,
    };
    counts.then(|| OwnAction { word: found.at.saturating_add(1), kind })
}

/// Returns the actions that one row of the table finds.
pub(in crate::interpret) fn table_actions<'w>(
    row: &TableRow,
    args: &'w [Word],
) -> Vec<FoundAction<'w>> {
    let mut found = Vec::new();
    if !row.verbs.is_empty() {
        let Some(verb) = verb(row, args) else { return found };
        let value = value_of(args.get(verb.saturating_add(1)));
        found.extend(row.verb_acts.iter().map(|act| FoundAction { at: verb, act: *act, value }));
    }
    // The words after the program of an interpreter belong to that program.
    let end = match row.row.interpreter {
        Some(of) => program_source::end_of_options(row, of, args),
        None => args.len(),
    };
    for (at, word) in args.iter().enumerate().take(end) {
        let next = args.get(at.saturating_add(1));
        if let Some((act, value)) = option_action(row, word, next) {
            found.push(FoundAction { at, act, value });
        }
    }
    operand_rules::add_actions(row, args, &mut found);
    found
}

/// Returns the index of the subcommand, if it is one of the row's.
fn verb(row: &TableRow, args: &[Word]) -> Option<usize> {
    let mut at = 0;
    while at < MAX_VERB {
        let Word::Known(text) = args.get(at)? else { return None };
        if !text.starts_with(['-', '+']) {
            return row.verbs.contains(&text.as_str()).then_some(at);
        }
        at = at.saturating_add(if row.globals.contains(&text.as_str()) { 2 } else { 1 });
    }
    None
}

fn option_action<'w>(
    row: &TableRow,
    word: &'w Word,
    next: Option<&'w Word>,
) -> Option<(Act, ActionValue<'w>)> {
    let text = text_of(word);
    let joined = |value: &'w str| match word {
        Word::Known(_) => ActionValue::Known(value),
        Word::Unknown(_) => ActionValue::Unknown(value),
    };
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let value_or_next = || value.map_or_else(|| value_of(next), joined);
    if row.harmless.contains(&name) {
        return None;
    }
    let exact = row.words.iter().find(|(own, _)| *own == name || *own == text);
    if let Some((_, act)) = exact {
        return Some((*act, value_or_next()));
    }
    let begins = row.beginnings.iter().find(|(own, _)| text.starts_with(own));
    if let Some((own, act)) = begins {
        return Some((*act, joined(text.get(own.len()..).unwrap_or_default())));
    }
    let letters = text.strip_prefix('-')?;
    if letters.starts_with('-') {
        let is_it =
            |own: &str| own == name || (name.len() >= MIN_ABBREVIATION && own.starts_with(name));
        let (_, act) = row.long.iter().find(|(own, _)| is_it(own))?;
        return Some((*act, value_or_next()));
    }
    let (act, rest) = cluster_action(row, letters)?;
    Some((act, if rest.is_empty() { value_of(next) } else { joined(rest) }))
}

/// Returns the first letter with an action in a cluster of short options, and the rest of the
/// cluster.
pub(super) fn cluster_action<'w>(row: &TableRow, letters: &'w str) -> Option<(Act, &'w str)> {
    for (at, letter) in letters.char_indices() {
        if let Some((_, act)) = row.letters.iter().find(|(own, _)| *own == letter) {
            let rest = letters.get(at.saturating_add(letter.len_utf8())..).unwrap_or_default();
            return Some((*act, rest));
        }
        if row.values.contains(letter) || !letter.is_ascii_alphanumeric() {
            return None;
        }
    }
    None
}

/// Returns the command of a program that runs its arguments.
fn wrapped_command(name: &str, args: &[Word]) -> Vec<OwnAction> {
    let Some(wrapper) = wrapper_table::find(name) else { return Vec::new() };
    let runs = |at: usize| OwnAction { word: at.saturating_add(1), kind: OwnActionKind::Runs };
    let operands = || {
        let is_operand = |word: &Word| !text_of(word).starts_with('-');
        args.iter().enumerate().filter(move |(_, word)| is_operand(word)).map(|(at, _)| runs(at))
    };
    match wrapper.runs {
        CommandPosition::Command(options) => match command_start(name, args, &options) {
            Some(begins) if begins.skipped < args.len() => vec![runs(begins.skipped)],
            Some(_) => Vec::new(),
            None => operands().collect(),
        },
        CommandPosition::Rest => operands().collect(),
        CommandPosition::After(verbs) => {
            let near = args.iter().take(MAX_VERB);
            let is_verb = |word: &Word| verbs.contains(&text_of(word));
            near.enumerate()
                .find(|(_, word)| is_verb(word))
                .map(|(at, _)| runs(at))
                .into_iter()
                .collect()
        }
        CommandPosition::Eval => args.first().map(|_| runs(0)).into_iter().collect(),
        CommandPosition::Shell
        | CommandPosition::Source
        | CommandPosition::Find
        | CommandPosition::Git => Vec::new(),
    }
}

/// Returns whether a program can write to this name without changing a file.
pub(super) fn is_no_file(path: &str) -> bool {
    matches!(path, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
}

/// Returns whether a path may lead out of the folder in which a command runs. Temporary folders
/// count as inside.
pub(super) fn is_outside(path: &str) -> bool {
    if is_no_file(path) {
        return false;
    }
    let climbs = path.split('/').any(|part| part == "..");
    let is_temporary = ["/tmp/", "/var/tmp/"].iter().any(|folder| path.starts_with(folder));
    climbs || path.starts_with('~') || (path.starts_with('/') && !is_temporary)
}
