//! Protocol between Toolcrib and a shell: sends a command and marks its end.
//!
//! The shell's driver reads commands from descriptor 241 and runs each at the top level, so that
//! its effects on the shell persist. Then it writes a mark to both streams. The nonce of the mark
//! is sent after the command, so no program that the command runs can know it. Each command starts
//! with an empty input and the original streams, even if an earlier `exec` redirected them.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A shell language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Bash.
    Bash,
    /// POSIX sh only: busybox, where bash is missing.
    Sh,
}

impl Language {
    /// Returns the name for the model.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh (busybox; no bash)",
        }
    }

    /// Returns the driver program as arguments.
    pub(super) fn driver(self) -> Vec<&'static str> {
        match self {
            Self::Bash => vec![BASH],
            // Pass a line break as second argument, since the driver itself is a single line.
            Self::Sh => vec![SH, "sh", "\n"],
        }
    }
}

/// The command by which bash reads a nonce. Bash 3.2 of macOS lacks `-N`; `-n` would end at a line
/// break, which a nonce does not contain.
#[cfg(not(target_os = "macos"))]
macro_rules! mark {
    () => {
        "-N 16"
    };
}
#[cfg(target_os = "macos")]
macro_rules! mark {
    () => {
        "-n 16"
    };
}

/// Whether bash can read a fixed number of characters including line breaks (`-N`).
const COUNTS: bool = !cfg!(target_os = "macos");

/// The driver for bash. A single line, so that bash counts the lines of a command from 1. The
/// one-iteration loop catches a stray `break`.
const BASH: &str = concat!(
    "exec 241<&0 242>&1 243>&2 </dev/null;",
    "while IFS= builtin read -r -u 241 __toolcrib; do ",
    "if [[ $__toolcrib ]]; then IFS= builtin read -r -u 241 -N \"$__toolcrib\" __toolcrib; ",
    "else IFS= builtin read -r -u 241 -d '' __toolcrib; fi; ",
    "for __toolcrib_once in 1; do ",
    "builtin eval \"$__toolcrib\" </dev/null >&242 2>&243 241<&-; ",
    "done; __toolcrib=$?; builtin disown -a; ",
    "IFS= builtin read -r -u 241 ",
    mark!(),
    " __toolcrib_once; ",
    "builtin printf '\\036%s\\036' \"$__toolcrib_once\" >&242; ",
    "builtin printf '\\036%s\\037%s\\037%s\\036' ",
    "\"$__toolcrib_once\" \"$__toolcrib\" \"$PWD\" >&243; ",
    "done",
);

/// The driver for other shells. It reads the number of lines before each command, and runs it in a
/// function, so that `return` works.
const SH: &str = concat!(
    "__toolcrib_break=$1; shift; exec 241<&0 242>&1 243>&2 </dev/null; ",
    "__toolcrib_run() { for __toolcrib_once in 1; do command eval \"$__toolcrib\"; done; }; ",
    "while IFS= read -r __toolcrib_once <&241; do __toolcrib=; ",
    "while [ \"$__toolcrib_once\" -gt 0 ]; do IFS= read -r __toolcrib_line <&241; ",
    "__toolcrib=\"$__toolcrib$__toolcrib_line$__toolcrib_break\"; ",
    "__toolcrib_once=$((__toolcrib_once-1)); done; ",
    "__toolcrib_run </dev/null >&242 2>&243 241<&-; __toolcrib=$?; ",
    "IFS= read -r __toolcrib_once <&241; ",
    "command printf '\\036%s\\036' \"$__toolcrib_once\" >&242; ",
    "command printf '\\036%s\\037%s\\037%s\\036' ",
    "\"$__toolcrib_once\" \"$__toolcrib\" \"$PWD\" >&243; ",
    "done",
);

/// Shorter commands are read up to their end mark, which is faster; longer ones by length, in a
/// locale where a character is a byte.
const SHORT: usize = 128;

/// Characters of a nonce; bash reads that many at once.
const NONCE: usize = 16;

/// Encodes a command for the shell. It must not contain NUL.
pub(super) fn frame(language: Language, command: &str, nonce: &str) -> Vec<u8> {
    let mut frame = Vec::with_capacity(command.len() + nonce.len() + 16);
    if language == Language::Sh {
        frame.extend(command.split('\n').count().to_string().bytes());
        frame.push(b'\n');
        frame.extend(command.bytes());
        frame.push(b'\n');
    } else if COUNTS && command.len() > SHORT && command.is_ascii() {
        frame.extend(command.len().to_string().bytes());
        frame.push(b'\n');
        frame.extend(command.bytes());
    } else {
        frame.push(b'\n');
        frame.extend(command.bytes());
        frame.push(0);
    }
    frame.extend(nonce.bytes());
    if language == Language::Sh {
        frame.push(b'\n');
    }
    frame
}

/// Returns an unpredictable text of [`NONCE`] characters.
pub(super) fn nonce() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    // `RandomState` is seeded by the operating system.
    format!("{:0NONCE$x}", RandomState::new().hash_one(NONCE))
}

/// Wraps a command to run in a folder, with variables that are set for this command only.
pub(super) fn with(
    language: Language,
    command: &str,
    folder: Option<&str>,
    env: &BTreeMap<String, String>,
) -> String {
    if folder.is_none() && env.is_empty() {
        return command.to_owned();
    }
    let (cd, eval) = match language {
        // Do not use `builtin eval`: bash drops its temporary variables after the first command.
        Language::Bash => ("builtin cd", "eval"),
        // Do not use `eval`: it is a special builtin, so variables before it persist.
        Language::Sh => ("command cd", "command eval"),
    };
    let mut text = String::new();
    if let Some(folder) = folder {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{cd} -- {} && ", quoted(folder));
    }
    for (name, value) in env {
        let _ = write!(text, "{name}={} ", quoted(value));
    }
    let _ = write!(text, "{eval} {}", quoted(command));
    text
}

/// Quotes a word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_wrapped_only_where_it_has_to_be() {
        let env = BTreeMap::from([("A".to_owned(), "it's".to_owned())]);
        assert_eq!(with(Language::Bash, "ls", None, &BTreeMap::new()), "ls");
        assert_eq!(
            with(Language::Bash, "echo 'x'", Some("/a b"), &env),
            r"builtin cd -- '/a b' && A='it'\''s' eval 'echo '\''x'\'''"
        );
    }

    #[test]
    fn a_shell_that_is_no_bash_gets_what_it_understands() {
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let text = with(Language::Sh, "ls", Some("/a"), &env);
        assert_eq!(text, "command cd -- '/a' && A='1' command eval 'ls'");
        assert_eq!(frame(Language::Sh, "a\nb", "n"), b"2\na\nb\nn\n");
        assert_eq!(frame(Language::Sh, "a\n", "n"), b"2\na\n\nn\n");
    }

    #[test]
    fn frames() {
        assert_eq!(frame(Language::Bash, "ls", "n"), b"\nls\0n");
        let long = "a".repeat(SHORT + 1);
        let framed = if COUNTS { format!("129\n{long}n") } else { format!("\n{long}\0n") };
        assert_eq!(frame(Language::Bash, &long, "n"), framed.into_bytes());
        let wide = "ä".repeat(SHORT);
        assert_eq!(frame(Language::Bash, &wide, "n"), format!("\n{wide}\0n").into_bytes());
    }

    #[test]
    fn no_two_marks_are_alike() {
        let all: std::collections::BTreeSet<String> = (0..100).map(|_| nonce()).collect();
        assert_eq!(all.len(), 100);
        assert!(all.iter().all(|one| one.len() == NONCE));
        assert!(BASH.to_lowercase().contains(&format!("-n {NONCE} ")));
    }
}
