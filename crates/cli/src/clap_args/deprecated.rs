//! Options that were renamed and commands that moved: the old name works for one more release and
//! prints a warning.

use std::ffi::{OsStr, OsString};

/// A renamed option of one subcommand.
struct Renamed {
    subcommand: &'static [&'static str],
    old: &'static str,
    new: &'static str,
}

/// Deprecated in 0.2, to be removed in 0.3.
const RENAMED: &[Renamed] = &[
    Renamed { subcommand: &["exec"], old: "--key", new: "--idempotency-key" },
    Renamed { subcommand: &["tool", "call"], old: "--key", new: "--idempotency-key" },
    Renamed { subcommand: &["chain", "save"], old: "--everywhere", new: "--global" },
    Renamed { subcommand: &["chain", "rm"], old: "--everywhere", new: "--global" },
    Renamed { subcommand: &["mcp", "test"], old: "--keep-off", new: "--no-enable" },
    Renamed { subcommand: &["sandbox", "install"], old: "--anew", new: "--reinstall" },
    Renamed { subcommand: &["serve"], old: "--behind-proxy", new: "--trusted-proxy" },
];

/// A command that moved under another one.
struct Moved {
    name: &'static str,
    parent: &'static str,
}

/// Deprecated in 0.2, to be removed in 0.3.
const MOVED: &[Moved] = &[
    Moved { name: "completions", parent: "util" },
    Moved { name: "errors", parent: "util" },
    Moved { name: "find", parent: "tool" },
    Moved { name: "healthcheck", parent: "daemon" },
    Moved { name: "man", parent: "util" },
    Moved { name: "openapi", parent: "util" },
    Moved { name: "reload", parent: "daemon" },
    Moved { name: "service", parent: "daemon" },
    Moved { name: "spec", parent: "tool" },
];

/// A renamed subcommand.
struct RenamedSubcommand {
    parent: &'static str,
    old: &'static str,
    new: &'static str,
}

/// Deprecated in 0.2, to be removed in 0.3.
const RENAMED_SUBCOMMANDS: &[RenamedSubcommand] =
    &[RenamedSubcommand { parent: "prompt", old: "soul", new: "instructions" }];

/// Replaces old names of commands and options in the arguments of the process (program name
/// included) and returns one warning for each.
pub(super) fn replace_old_names(args: &mut Vec<OsString>) -> Vec<String> {
    let moved = replace_old_command(args);
    let renamed = replace_old_subcommand(args);
    moved.into_iter().chain(renamed).chain(replace_old_options(args)).collect()
}

fn replace_old_subcommand(args: &mut [OsString]) -> Option<String> {
    let is_word = |arg: &OsString| !arg.as_encoded_bytes().starts_with(b"-") && arg != "help";
    let mut words = args.iter_mut().skip(1).filter(|arg| is_word(arg));
    let (parent, word) = (words.next()?, words.next()?);
    let is_renamed = |one: &&RenamedSubcommand| *parent == one.parent && *word == one.old;
    let RenamedSubcommand { parent, old, new } = RENAMED_SUBCOMMANDS.iter().find(is_renamed)?;
    *word = new.into();
    Some(format!(
        "`toolcrib {parent} {old}` is now `toolcrib {parent} {new}`; the old name goes away in the next release"
    ))
}

/// Replaces the old name of a command. The command is the first argument that is neither an option
/// nor `help`: the options before it have no value.
fn replace_old_command(args: &mut Vec<OsString>) -> Option<String> {
    let is_before = |arg: &OsString| arg.as_encoded_bytes().starts_with(b"-") || arg == "help";
    let index = 1 + args.iter().skip(1).position(|arg| !is_before(arg))?;
    let moved = MOVED.iter().find(|moved| args.get(index).is_some_and(|arg| arg == moved.name))?;
    args.insert(index, moved.parent.into());
    Some(format!(
        "`toolcrib {0}` is now `toolcrib {1} {0}`; the old name goes away in the next release",
        moved.name, moved.parent
    ))
}

fn replace_old_options(args: &mut [OsString]) -> Vec<String> {
    let words: Vec<OsString> = args
        .iter()
        .skip(1)
        .filter(|arg| !arg.as_encoded_bytes().starts_with(b"-"))
        .take(2)
        .cloned()
        .collect();
    let is_of = |renamed: &&Renamed| {
        let path = renamed.subcommand.iter().map(OsStr::new);
        words.len() >= renamed.subcommand.len()
            && path.eq(words.iter().take(renamed.subcommand.len()))
    };
    let mut warnings = Vec::new();
    for renamed in RENAMED.iter().filter(is_of) {
        // Everything after `--` is a value, even if it looks like an option.
        for arg in args.iter_mut().take_while(|arg| *arg != "--") {
            let Some(text) = arg.to_str() else { continue };
            let Some(rest) = text.strip_prefix(renamed.old) else { continue };
            if rest.is_empty() || rest.starts_with('=') {
                *arg = format!("{}{rest}", renamed.new).into();
                warnings.push(format!(
                    "{} is now called {}; the old name goes away in the next release",
                    renamed.old, renamed.new
                ));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(line: &str) -> (String, usize) {
        let mut args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let warnings = replace_old_names(&mut args);
        let args: Vec<String> = args.into_iter().map(|arg| arg.into_string().unwrap()).collect();
        (args.join(" "), warnings.len())
    }

    #[test]
    fn commands_that_moved_are_found_under_their_old_name() {
        for (line, expected, warnings) in [
            ("toolcrib find x --limit 3", "toolcrib tool find x --limit 3", 1),
            ("toolcrib --json spec --format text", "toolcrib --json tool spec --format text", 1),
            ("toolcrib help find", "toolcrib help tool find", 1),
            ("toolcrib tool find x", "toolcrib tool find x", 0),
            ("toolcrib run find", "toolcrib run find", 0),
            ("toolcrib --version", "toolcrib --version", 0),
        ] {
            assert_eq!(replaced(line), (expected.to_owned(), warnings), "{line}");
        }
    }

    #[test]
    fn renamed_subcommands_are_found_under_their_old_name() {
        for (line, expected, warnings) in [
            ("toolcrib --json prompt soul", "toolcrib --json prompt instructions", 1),
            ("toolcrib help prompt soul", "toolcrib help prompt instructions", 1),
            ("toolcrib prompt set soul", "toolcrib prompt set soul", 0),
            ("toolcrib memory show soul", "toolcrib memory show soul", 0),
        ] {
            assert_eq!(replaced(line), (expected.to_owned(), warnings), "{line}");
        }
    }

    #[test]
    fn old_options_of_their_subcommand_are_replaced() {
        for (line, expected, warnings) in [
            ("toolcrib tool call x --key=7", "toolcrib tool call x --idempotency-key=7", 1),
            ("toolcrib --json exec --key 7", "toolcrib --json exec --idempotency-key 7", 1),
            ("toolcrib audit verify --key a.pub", "toolcrib audit verify --key a.pub", 0),
            ("toolcrib tool call x -- --key", "toolcrib tool call x -- --key", 0),
            ("toolcrib tool call x --keys", "toolcrib tool call x --keys", 0),
        ] {
            assert_eq!(replaced(line), (expected.to_owned(), warnings), "{line}");
        }
    }
}
