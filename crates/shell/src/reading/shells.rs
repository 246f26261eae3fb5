//! What a shell is given to run.
#![deny(clippy::indexing_slicing)]

use super::options::known;
use crate::ansi_c;
use crate::line::Word;

/// What the arguments of a shell say.
pub(super) enum Given<'a> {
    /// The text after `-c`.
    Text(&'a Word),
    /// A file that is not read here.
    File,
    /// Its standard input, or what a part of the line writes.
    Input,
}

/// Reads the arguments of a shell.
pub(super) fn given(args: &[Word]) -> Given<'_> {
    let mut rest = args.iter();
    let (mut takes_text, mut takes_input) = (false, false);
    let mut operand = None;
    while let Some(word) = rest.next() {
        let Some(text) = known(word) else {
            operand = Some(word);
            break;
        };
        // A shell refuses what begins like an option and is none; read as a command, nothing is missed.
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
        Some(word) if takes_text => Given::Text(word),
        Some(Word::Known(text))
            if !takes_input && !text.starts_with("/dev/") && !text.starts_with("/proc/") =>
        {
            Given::File
        }
        _ => Given::Input,
    }
}

/// What `echo` or `printf` may write, one text for each way to read it.
pub(super) fn said(args: &[Word]) -> Vec<String> {
    let words: Vec<&str> = args
        .iter()
        .filter_map(known)
        .skip_while(|text| {
            text.starts_with('-') && text.bytes().skip(1).all(|b| b"neE-".contains(&b))
        })
        .collect();
    let mut texts = vec![words.join(" ")];
    // As `printf '%s\n' WORD…` writes them.
    texts.push(words.get(1..).unwrap_or_default().join("\n"));
    texts.push(words.get(1..).unwrap_or_default().join(" "));
    for i in 0..texts.len() {
        let Some(text) = texts.get(i).filter(|text| text.contains('\\')) else { continue };
        texts.extend(ansi_c::decode(text));
    }
    texts.retain(|text| !text.is_empty());
    texts.dedup();
    texts
}
