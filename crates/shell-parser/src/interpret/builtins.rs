//! Shell builtins that change the meaning of later words or interpret their own arguments.
#![deny(clippy::indexing_slicing)]

use super::wrapper_options::known;
use crate::command_line::{AllowBlocker, Word};

/// Returns the reason why no allow rule can cover a builtin with these arguments.
pub(super) fn block(name: &str, args: &[Word]) -> Option<AllowBlocker> {
    let first = args.first().and_then(known);
    let prints = |letters: &str| {
        first.is_none_or(|text| text.starts_with('-') && text.contains(|c| letters.contains(c)))
    };
    let changes = match name {
        "export" | "declare" | "typeset" | "readonly" | "local" => {
            !args.is_empty() && !prints("pfF")
        }
        "read" | "mapfile" | "readarray" | "getopts" | "let" | "unset" | "unalias" => true,
        "alias" | "hash" | "enable" => !args.is_empty(),
        "set" => !args.iter().all(is_harmless_setting),
        "shopt" => args.iter().any(|word| known(word).is_none_or(|text| text.contains(['s', 'u']))),
        "printf" => first.is_none_or(|text| text.starts_with("-v")),
        "wait" => args.iter().any(|word| known(word).is_none_or(|text| text.starts_with("-p"))),
        _ => false,
    };
    changes.then(|| AllowBlocker::Assignment(name.to_owned()))
}

/// Options of `set` with which defensive scripts begin.
fn is_harmless_setting(word: &Word) -> bool {
    let Some(text) = known(word) else { return false };
    matches!(
        text,
        "pipefail" | "errexit" | "nounset" | "xtrace" | "verbose" | "noclobber" | "noglob"
    ) || text
        .strip_prefix(['-', '+'])
        .is_some_and(|letters| letters.bytes().all(|b| b"euxvfCno".contains(&b)))
}

/// Returns whether the builtin interprets its arguments as arithmetic or as names, so that commands
/// in them run even though they are quoted.
pub(super) fn evaluates(name: &str) -> bool {
    matches!(
        name,
        "[[" | "["
            | "test"
            | "let"
            | "read"
            | "printf"
            | "declare"
            | "typeset"
            | "local"
            | "readonly"
            | "export"
            | "unset"
            | "mapfile"
            | "readarray"
            | "getopts"
            | "wait"
    )
}
