//! Arguments of shells: the source of the commands that a shell runs.
#![deny(clippy::indexing_slicing)]

use super::unwrap::is_input;
use super::wrapper_options::{MAX_OPTIONS, known};
use crate::ansi_c_quoting;
use crate::command_line::Word;

/// The source of a shell's commands.
pub(super) enum ShellSource<'a> {
    /// The text after `-c`.
    Text(&'a Word),
    /// A file, which is not read here.
    File,
    /// A file that is not known, or the output of a part of the line.
    UnknownFile,
    /// Standard input, or another open file.
    Input,
    /// More options than the parser follows, so it may be any word.
    Unclear,
}

/// Parses the arguments of a shell.
pub(super) fn shell_source(args: &[Word]) -> ShellSource<'_> {
    let mut rest = args.iter();
    let (mut takes_text, mut takes_input) = (false, false);
    let mut operand = None;
    while let Some(word) = rest.next() {
        // Each of many shells in a line would scan the options of all later ones.
        if args.len().saturating_sub(rest.len()) > MAX_OPTIONS {
            return ShellSource::Unclear;
        }
        let Some(text) = known(word) else {
            operand = Some(word);
            break;
        };
        // A shell rejects an unknown option. Interpreting it as a command as well ensures that no
        // command is missed.
        let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
        let is_letters = !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_alphabetic());
        let is_option = is_letters || text.starts_with("--");
        if text == "--" || text == "-" {
            operand = rest.next();
            break;
        }
        if !is_option {
            operand = Some(word);
            break;
        }
        if text.starts_with("--") {
            if matches!(text, "--rcfile" | "--init-file" | "--emulate") {
                rest.next();
            }
            continue;
        }
        takes_text |= text.contains('c');
        takes_input |= text.contains('s');
        if text.ends_with(['o', 'O']) {
            rest.next();
        }
    }
    match operand {
        Some(word) if takes_text => ShellSource::Text(word),
        Some(Word::Known(text))
            if !takes_input && !text.starts_with("/dev/") && !text.starts_with("/proc/") =>
        {
            ShellSource::File
        }
        Some(word @ Word::Unknown(_)) if !takes_input && !is_input(word) => {
            ShellSource::UnknownFile
        }
        _ => ShellSource::Input,
    }
}

/// Returns the possible output of `echo` or `printf`, one text for each interpretation.
pub(super) fn echoed_text(args: &[Word]) -> Vec<String> {
    let words: Vec<&str> = args
        .iter()
        .filter_map(known)
        .skip_while(|text| {
            text.starts_with('-') && text.bytes().skip(1).all(|b| b"neE-".contains(&b))
        })
        .collect();
    let mut texts = vec![words.join(" ")];
    // The output of `printf '%s\n' WORD…`.
    texts.push(words.get(1..).unwrap_or_default().join("\n"));
    texts.push(words.get(1..).unwrap_or_default().join(" "));
    for i in 0..texts.len() {
        let Some(text) = texts.get(i).filter(|text| text.contains('\\')) else { continue };
        texts.extend(ansi_c_quoting::decode(text));
    }
    texts.retain(|text| !text.is_empty());
    texts.dedup();
    texts
}
