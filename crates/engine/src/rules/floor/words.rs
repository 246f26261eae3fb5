//! Options and operands among the words of a command.
#![deny(clippy::indexing_slicing)]

use toolcrib_shell_parser::Word;

use super::known;

/// Whether one of the words is one of these.
pub(super) fn has(args: &[Word], words: &[&str]) -> bool {
    args.iter().filter_map(known).any(|text| words.contains(&text))
}

/// Whether a short or long option is among the words.
pub(super) fn has_option(args: &[Word], letters: &[char], long: &str) -> bool {
    args.iter().filter_map(known).any(|text| match text.strip_prefix("--") {
        Some(name) => name.len() > 1 && long.starts_with(name),
        None => text.strip_prefix('-').is_some_and(|cluster| cluster.contains(letters)),
    })
}

/// The words that are no options.
pub(super) fn operands(args: &[Word]) -> impl DoubleEndedIterator<Item = &Word> {
    let is_option =
        |word: &Word| known(word).is_some_and(|text| text.starts_with('-') && text != "-");
    args.iter().filter(move |word| !is_option(word))
}
