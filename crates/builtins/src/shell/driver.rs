//! What bash does between commands, and how a command is put to it.
//!
//! Bash reads one command after another from descriptor 241, runs it at the top level (so that whatever it changes stays), and then writes a
//! mark to both streams. The text in the mark comes behind the command, so nothing that runs knows it. Each command has the streams that the
//! last one had at its beginning, whatever `exec` did to them, and an empty input.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The program of the shell: one line, so that bash counts the lines of a command from 1. A loop of one round takes a stray `break`.
pub(super) const DRIVER: &str = concat!(
    "exec 241<&0 242>&1 243>&2 </dev/null;",
    "while IFS= builtin read -r -u 241 __toolcrib; do ",
    "if [[ $__toolcrib ]]; then IFS= builtin read -r -u 241 -N \"$__toolcrib\" __toolcrib; ",
    "else IFS= builtin read -r -u 241 -d '' __toolcrib; fi; ",
    "for __toolcrib_once in 1; do ",
    "builtin eval \"$__toolcrib\" </dev/null >&242 2>&243 241<&-; ",
    "done; __toolcrib=$?; builtin disown -a; ",
    "IFS= builtin read -r -u 241 __toolcrib_once; ",
    "builtin printf '\\036%s\\036' \"$__toolcrib_once\" >&242; ",
    "builtin printf '\\036%s\\037%s\\037%s\\037%s\\036' ",
    "\"$__toolcrib_once\" \"$__toolcrib\" \"${!-}\" \"$PWD\" >&243; ",
    "done",
);

/// Shorter texts are read to their end mark, which is quicker; longer ones by their length, where a character is a byte.
const SHORT: usize = 128;

/// A command as bash reads it. It holds no zero byte.
pub(super) fn frame(command: &str, nonce: &str) -> Vec<u8> {
    let mut frame = Vec::with_capacity(command.len() + nonce.len() + 16);
    if command.len() > SHORT && command.is_ascii() {
        frame.extend(command.len().to_string().bytes());
        frame.push(b'\n');
        frame.extend(command.bytes());
    } else {
        frame.push(b'\n');
        frame.extend(command.bytes());
        frame.push(0);
    }
    frame.extend(nonce.bytes());
    frame.push(b'\n');
    frame
}

/// A command in a folder, with variables of its own that are gone afterwards.
pub(super) fn with(command: &str, folder: Option<&str>, env: &BTreeMap<String, String>) -> String {
    if folder.is_none() && env.is_empty() {
        return command.to_owned();
    }
    let mut text = String::new();
    if let Some(folder) = folder {
        // Writing to a String cannot fail.
        let _ = write!(text, "builtin cd -- {} && ", quoted(folder));
    }
    for (name, value) in env {
        let _ = write!(text, "{name}={} ", quoted(value));
    }
    // Not `builtin eval`: bash forgets the variables of that one after its first command.
    let _ = write!(text, "eval {}", quoted(command));
    text
}

/// A word that bash takes as it is.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_wrapped_only_where_it_has_to_be() {
        let env = BTreeMap::from([("A".to_owned(), "it's".to_owned())]);
        assert_eq!(with("ls", None, &BTreeMap::new()), "ls");
        assert_eq!(
            with("echo 'x'", Some("/a b"), &env),
            r"builtin cd -- '/a b' && A='it'\''s' eval 'echo '\''x'\'''"
        );
    }

    #[test]
    fn frames() {
        assert_eq!(frame("ls", "n"), b"\nls\0n\n");
        let long = "a".repeat(SHORT + 1);
        assert_eq!(frame(&long, "n"), format!("129\n{long}n\n").into_bytes());
        let wide = "ä".repeat(SHORT);
        assert_eq!(frame(&wide, "n"), format!("\n{wide}\0n\n").into_bytes());
    }
}
