//! Folders that a command changes to before it, or the command that it runs, resolves relative
//! paths.
#![deny(clippy::indexing_slicing)]

use toolcrib_shell_parser::{Interpretation, Word};

use super::words::{known, program};

/// Maximum words of a command that are searched for options. A line may have such a program at
/// every word.
const MAX_OPTION_WORDS: usize = 64;

/// Programs with an option that changes the folder: the letter, and the long option.
const BY_OPTION: [(&str, char, &str); 12] = [
    ("env", 'C', "chdir"),
    ("sudo", 'D', "chdir"),
    ("sudo-rs", 'D', "chdir"),
    ("run0", 'D', "chdir"),
    ("git", 'C', ""),
    ("make", 'C', "directory"),
    ("gmake", 'C', "directory"),
    ("tar", 'C', "directory"),
    ("systemd-run", '\0', "working-directory"),
    ("start-stop-daemon", 'd', "chdir"),
    ("unshare", '\0', "wd"),
    ("nsenter", '\0', "wd"),
];

/// Returns the folders as written; `~` if a program changes to the home folder by default.
pub(super) fn folders(reading: &Interpretation) -> Vec<Word> {
    let args = reading.args().get(..reading.args().len().min(MAX_OPTION_WORDS));
    let args = args.unwrap_or(reading.args());
    let Some(name) = program(reading) else { return Vec::new() };
    if matches!(name, "cd" | "chdir" | "pushd") {
        let is_option =
            |word: &&Word| known(word).is_some_and(|text| text.starts_with('-') && text.len() > 1);
        let target = args.iter().find(|word| !is_option(word)).cloned();
        return vec![target.unwrap_or_else(home)];
    }
    let options = BY_OPTION.iter().filter(|(own, ..)| *own == name);
    let mut found: Vec<Word> =
        options.flat_map(|(_, letter, long)| values(args, *letter, long)).collect();
    let logs_in = |word: &Word| matches!(known(word), Some("-i" | "--login"));
    if matches!(name, "sudo" | "sudo-rs") && args.iter().any(logs_in) {
        found.push(home());
    }
    found
}

fn home() -> Word {
    Word::Known("~".to_owned())
}

/// Returns the values of an option: `-C DIR`, `-CDIR`, `--chdir DIR`, `--chdir=DIR`, `--ch=DIR`.
pub(super) fn values(args: &[Word], letter: char, long: &str) -> Vec<Word> {
    let value = |(at, word): (usize, &Word)| {
        let (text, is_known) = match word {
            Word::Known(text) => (text.as_str(), true),
            Word::Unknown(text) => (text.as_str(), false),
        };
        let joined = match text.strip_prefix("--") {
            Some(option) => {
                let (name, value) = option.split_once('=').unwrap_or((option, ""));
                (name.len() > 1 && long.starts_with(name)).then_some(value)?
            }
            None => {
                let letters = text.strip_prefix('-')?;
                letters.split_once(letter).map(|(_, value)| value)?
            }
        };
        if joined.is_empty() {
            return args.get(at.saturating_add(1)).cloned();
        }
        let joined = joined.to_owned();
        Some(if is_known { Word::Known(joined) } else { Word::Unknown(joined) })
    };
    args.iter().enumerate().filter_map(value).collect()
}
