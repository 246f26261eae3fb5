//! Options and operands among the words of a command.
#![deny(clippy::indexing_slicing)]

use toolcrib_shell_parser::{Interpretation, Word};

/// Returns whether one of the arguments is one of these words.
pub(super) fn has(args: &[Word], words: &[&str]) -> bool {
    args.iter().filter_map(known).any(|text| words.contains(&text))
}

/// Returns whether a short or long option is among the words.
pub(super) fn has_option(args: &[Word], letters: &[char], long: &str) -> bool {
    args.iter().filter_map(known).any(|text| match text.strip_prefix("--") {
        Some(name) => name.len() > 1 && long.starts_with(name),
        None => text.strip_prefix('-').is_some_and(|cluster| cluster.contains(letters)),
    })
}

/// Returns the words that are not options.
pub(super) fn operands(args: &[Word]) -> impl DoubleEndedIterator<Item = &Word> {
    let is_option =
        |word: &Word| known(word).is_some_and(|text| text.starts_with('-') && text != "-");
    args.iter().filter(move |word| !is_option(word))
}

/// Maximum words of a line that are compared; a line with more asks. A line of 128 KiB, the longest
/// that is judged, has at most a third of them, once for each part.
pub(super) const MAX_WORDS: usize = 200_000;

/// Returns the program of a command, without its directory.
pub(super) fn program(reading: &Interpretation) -> Option<&str> {
    known(reading.program()).map(|program| program.rsplit('/').next().unwrap_or(program))
}

pub(super) fn known(word: &Word) -> Option<&str> {
    match word {
        Word::Known(text) => Some(text),
        Word::Unknown(_) => None,
    }
}
