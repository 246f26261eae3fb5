//! Options of wrapper programs: finds the start of the wrapped command.
#![deny(clippy::indexing_slicing)]

use super::wrapper_table::Options;
use crate::command_line::Word;

/// Maximum number of options; more count as unparsed, which bounds the cost of a long line.
pub(super) const MAX_OPTIONS: usize = 64;

/// The start of the command, in words after the name. `None` if an option or a word is not known.
pub(super) struct CommandStart {
    pub(super) skipped: usize,
    /// Whether no option precedes the command.
    pub(super) is_bare: bool,
}

/// Parses the options of a program that accepts none after its first operand.
pub(super) fn command_start(name: &str, args: &[Word], options: &Options) -> Option<CommandStart> {
    let mut at = 0;
    loop {
        if at > MAX_OPTIONS {
            return None;
        }
        let Some(word) = args.get(at) else { break };
        let text = known(word)?;
        if text == "--" {
            at = at.saturating_add(1);
            break;
        }
        if text == "-" && name == "env" {
            at = at.saturating_add(1);
            continue;
        }
        let Some(option) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            break;
        };
        at = at.saturating_add(width(name, option, options)?);
    }
    let is_bare = at == 0;
    for _ in 0..options.operands {
        if let Some(word) = args.get(at) {
            known(word)?;
            at = at.saturating_add(1);
        }
    }
    while options.assigns && args.get(at).is_some_and(is_assignment) {
        at = at.saturating_add(1);
    }
    Some(CommandStart { skipped: at, is_bare })
}

/// Returns the number of words of an option.
fn width(name: &str, option: &str, options: &Options) -> Option<usize> {
    if let Some(long) = option.strip_prefix('-') {
        let (long, has_value) =
            long.split_once('=').map_or((long, false), |(long, _)| (long, true));
        if options.long_flags.contains(&long) {
            return Some(1);
        }
        return options.long_values.contains(&long).then_some(if has_value { 1 } else { 2 });
    }
    if name == "nice"
        && option.strip_prefix('-').unwrap_or(option).bytes().all(|b| b.is_ascii_digit())
    {
        return Some(1);
    }
    for (i, letter) in option.char_indices() {
        if options.values.contains(letter) {
            let is_last = i.saturating_add(letter.len_utf8()) == option.len();
            return Some(if is_last { 2 } else { 1 });
        }
        if options.optional.contains(letter) {
            return Some(1);
        }
        if !options.flags.contains(letter) {
            return None;
        }
    }
    Some(1)
}

/// Returns the placeholder that input replaces in the command of `xargs`: the last `-I R`, `-i[R]`,
/// `-J R` or `--replace[=R]` of these options.
pub(super) fn placeholder(options: &[Word]) -> Option<&str> {
    let mut found = None;
    let mut words = options.iter().take(MAX_OPTIONS).filter_map(known).peekable();
    while let Some(text) = words.next() {
        let replaced = if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').unwrap_or((long, "{}"));
            // Long options may be abbreviated.
            (name.len() > 2 && "replace".starts_with(name)).then_some(value)
        } else {
            let letters = text.strip_prefix('-').unwrap_or_default();
            letters.split_once(['I', 'J', 'i']).map(|(before, value)| {
                let takes_next = !letters.get(before.len()..).is_some_and(|l| l.starts_with('i'));
                let next = words.peek().copied().filter(|_| takes_next);
                if value.is_empty() { next.unwrap_or("{}") } else { value }
            })
        };
        found = replaced.filter(|text| !text.is_empty()).or(found);
    }
    found
}

/// Whether the word is `NAME=VALUE`. Programs accept any word with an equals sign, regardless of
/// the text before it.
fn is_assignment(word: &Word) -> bool {
    let (Word::Known(text) | Word::Unknown(text)) = word;
    text.contains('=')
}

pub(super) fn known(word: &Word) -> Option<&str> {
    match word {
        Word::Known(text) => Some(text),
        Word::Unknown(_) => None,
    }
}
