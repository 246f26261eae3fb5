//! The source of an interpreter's program.
#![deny(clippy::indexing_slicing)]

use super::find_actions::{cluster_action, text_of};
use super::program_table::{Act, Interpreter, TableRow};
use crate::command_line::Word;

/// The source of an interpreter's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interpret) enum ProgramSource<'w> {
    /// A file that the line names, a module, or code in an option.
    Named,
    /// A file whose name is not known, or whose content a part of the line creates.
    Unknown(&'w str),
    /// Its standard input.
    Input,
}

/// Returns the index of the operand that names the program, or of an option after which there is
/// none; the number of arguments if there is neither.
pub(super) fn end_of_options(row: &TableRow, of: Interpreter, args: &[Word]) -> usize {
    let mut at = 0;
    while let Some(Word::Known(text)) = args.get(at) {
        let is_option = text.starts_with(['-', '+']) && text.len() > 1;
        if !is_option || is_complete(of, text) {
            return at;
        }
        let takes_next = of.skip.split_ascii_whitespace().any(|own| own == text)
            || code_value(row, text).is_some_and(str::is_empty);
        at = at.saturating_add(if takes_next { 2 } else { 1 });
    }
    at.min(args.len())
}

/// Returns whether no word after this option is the program: `-m`, `-mjson.tool`, `--version`.
fn is_complete(of: Interpreter, text: &str) -> bool {
    of.complete
        .split_ascii_whitespace()
        .any(|own| own == text || (own.len() == 2 && text.starts_with(own)))
}

/// Returns the value of an option with code, as far as it is in the same word.
fn code_value<'t>(row: &TableRow, text: &'t str) -> Option<&'t str> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let is_code = |(own, act): &&(&str, Act)| *own == name && *act == Act::Code;
    if row.words.iter().chain(&row.long).any(|own| is_code(&own)) {
        return Some(value);
    }
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    cluster_action(row, letters).filter(|(act, _)| *act == Act::Code).map(|(_, rest)| rest)
}

/// Returns the source of the program.
pub(in crate::interpret) fn program_source<'w>(
    row: &TableRow,
    of: Interpreter,
    args: &'w [Word],
) -> ProgramSource<'w> {
    let end = end_of_options(row, of, args);
    let options = args.get(..end).unwrap_or_default();
    if options.iter().any(|word| code_value(row, text_of(word)).is_some()) {
        return ProgramSource::Named;
    }
    match args.get(end) {
        None => ProgramSource::Input,
        Some(Word::Unknown(text)) => ProgramSource::Unknown(text),
        Some(Word::Known(text)) if is_input_file(text) => ProgramSource::Input,
        Some(Word::Known(_)) => ProgramSource::Named,
    }
}

/// Returns whether the path names standard input, or another open file.
pub(in crate::interpret) fn is_input_file(path: &str) -> bool {
    path == "-"
        || path == "/dev/stdin"
        || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/")
}

/// Returns whether a word, as written, consists only of one expansion: then all of its text is
/// unknown.
pub(in crate::interpret) fn is_whole_expansion(written: &str) -> bool {
    let text = written.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(written);
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    match text.strip_prefix('$') {
        Some(rest) => is_name(rest) || rest.ends_with(')') || rest.ends_with('}') || rest == "@",
        None => text.contains("<(") || (text.starts_with('`') && text.ends_with('`')),
    }
}
