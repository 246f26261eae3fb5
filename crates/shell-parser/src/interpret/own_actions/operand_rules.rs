//! Own actions that a list of options cannot describe: scripts and settings in operands, and
//! operands that are written files.
#![deny(clippy::indexing_slicing)]

use super::find_actions::{
    ActionValue, FoundAction, MIN_ABBREVIATION, cluster_action, is_no_file, is_outside, text_of,
    value_of,
};
use super::program_source::{ProgramSource, program_source};
use super::program_table::{Act, Extra, TableRow};
use super::{awk_program, sed_script};
use crate::command_line::Word;

/// Prefixes of git's settings that name no program and no file.
const GIT_SETTINGS: [&str; 28] = [
    "advice.",
    "color.",
    "column.",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.quotepath",
    "core.safecrlf",
    "commit.gpgsign",
    "diff.noprefix",
    "diff.renames",
    "fetch.prune",
    "gc.auto",
    "http.lowspeed",
    "http.postbuffer",
    "init.defaultbranch",
    "log.",
    "merge.ff",
    "protocol.version",
    "pull.",
    "push.default",
    "status.",
    "tag.gpgsign",
    "user.",
];

/// Settings of ssh that name no program and no file.
const SSH_SETTINGS: [&str; 15] = [
    "addressfamily",
    "batchmode",
    "ciphers",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "identitiesonly",
    "loglevel",
    "passwordauthentication",
    "port",
    "preferredauthentications",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "user",
];

/// Options of `git config` that only read.
const READS_CONFIG: [&str; 13] = [
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--get-color",
    "--get-colorbool",
    "--list",
    "-l",
    "--show-origin",
    "--show-scope",
    "--name-only",
    "get",
    "list",
];

/// Variables of make that name a program, besides those that end in one of these names.
const MAKE_PROGRAMS: [&str; 13] = [
    "SHELL",
    "MAKE",
    "MAKEFLAGS",
    "MAKEFILES",
    ".SHELLFLAGS",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "PYTHON",
    "INSTALL",
];

/// Commands of database clients and SQL functions that run programs or open files.
const SQL_COMMANDS: [&str; 19] = [
    "\\!", "\\o", "\\w", "\\i", "\\copy", "\\g", "\\T", ".shell", ".system", ".output", ".once",
    ".excel", ".import", ".read", ".load", ".log", ".backup", ".save", ".clone",
];
const SQL_WORDS: [&str; 9] = [
    "writefile(",
    "load_extension(",
    "edit(",
    "program",
    "into outfile",
    "into dumpfile",
    "lo_export(",
    "system ",
    "attach ",
];

/// Adds the actions of the operands.
pub(super) fn add_actions<'w>(row: &TableRow, args: &'w [Word], found: &mut Vec<FoundAction<'w>>) {
    match row.row.extra {
        Extra::None | Extra::InputCommands => {}
        Extra::Sed => sed(row, args, found),
        Extra::Awk => awk(row, args, found),
        Extra::Git => settings(args, "-c", is_git_program, found),
        Extra::Ssh => settings(args, "-o", is_ssh_program, found),
        Extra::GitConfig => git_config(args, found),
        Extra::Make => make(args, found),
        Extra::Tar => tar(row, args, found),
        Extra::Sql => found.extend(
            args.iter()
                .enumerate()
                .filter(|(_, word)| has_sql_command(text_of(word)))
                .map(|(at, word)| FoundAction { at, act: Act::Code, value: value_of(Some(word)) }),
        ),
        Extra::Files => files(args, 0, Act::Folder, found),
        Extra::LastFile => {
            let last = operands(args).count().saturating_sub(1);
            files(args, last, Act::Folder, found);
        }
        Extra::Outputs => files(args, 0, Act::Output, found),
        Extra::SecondOutput => files(args, 1, Act::Output, found),
        Extra::Operands => found.extend(operands(args).map(|(at, word)| FoundAction {
            at,
            act: Act::File,
            value: value_of(Some(word)),
        })),
    }
}

/// Returns whether a program receives commands from its standard input, so that no word shows them.
pub(super) fn reads_commands(row: &TableRow, args: &[Word]) -> bool {
    let only_tells = |word: &Word| {
        matches!(
            text_of(word),
            "--version" | "--help" | "-V" | "-l" | "--list" | "--execute" | "-cmd"
        ) || text_of(word).starts_with("-c")
            || text_of(word).starts_with("-e")
            || text_of(word).starts_with("--command")
            || text_of(word).starts_with("--execute")
    };
    match (row.row.extra, row.row.interpreter) {
        (Extra::InputCommands, _) => true,
        (Extra::Sql, _) => operands(args).count() < 2 && !args.iter().any(only_tells),
        (_, Some(of)) => program_source(row, of, args) == ProgramSource::Input,
        _ => false,
    }
}

/// Returns the words that are not options.
fn operands(args: &[Word]) -> impl Iterator<Item = (usize, &Word)> {
    let is_operand = |word: &Word| !text_of(word).starts_with('-') || text_of(word) == "-";
    args.iter().enumerate().filter(move |(_, word)| is_operand(word))
}

/// Adds the operands from `first` on as written files.
fn files<'w>(args: &'w [Word], first: usize, act: Act, found: &mut Vec<FoundAction<'w>>) {
    let counts = |path: &str| if act == Act::Folder { is_outside(path) } else { !is_no_file(path) };
    let written = operands(args).skip(first).filter(|(_, word)| counts(text_of(word)));
    found.extend(written.map(|(at, word)| FoundAction {
        at,
        act: Act::Writes,
        value: value_of(Some(word)),
    }));
}

/// Returns the scripts of an editor: the values of its script options, or the first operand.
fn scripts<'w>(row: &TableRow, args: &'w [Word], long: &str) -> Vec<(usize, ActionValue<'w>)> {
    let mut scripts = Vec::new();
    let mut operand = None;
    let mut is_value = false;
    for (at, word) in args.iter().enumerate() {
        let text = text_of(word);
        if std::mem::take(&mut is_value) {
            continue;
        }
        let next = || value_of(args.get(at.saturating_add(1)));
        let (name, joined) = match text.split_once('=') {
            Some((name, value)) => (name, Some(ActionValue::Known(value))),
            None => (text, None),
        };
        if name.len() >= MIN_ABBREVIATION && long.starts_with(name) {
            is_value = joined.is_none();
            scripts.push((at, joined.unwrap_or_else(next)));
            continue;
        }
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            operand = operand.or(Some((at, value_of(Some(word)))));
            continue;
        };
        if letters.starts_with('-') {
            continue;
        }
        let Some((before, value)) =
            letters.split_once(|c: char| "ef".contains(c) || row.values.contains(c))
        else {
            continue;
        };
        let option = letters.get(before.len()..).unwrap_or_default();
        is_value = value.is_empty();
        if option.starts_with('e') {
            let value = if value.is_empty() { next() } else { ActionValue::Known(value) };
            scripts.push((at, value));
        } else if option.starts_with('f') {
            // The file contains the script, so no operand does.
            operand = operand.or(Some((at, ActionValue::None)));
        }
    }
    if scripts.is_empty() { operand.into_iter().collect() } else { scripts }
}

fn sed<'w>(row: &TableRow, args: &'w [Word], found: &mut Vec<FoundAction<'w>>) {
    for (at, script) in scripts(row, args, "--expression") {
        match script {
            ActionValue::Known(text) => found.extend(
                sed_script::actions(text).into_iter().map(|(act, value)| FoundAction {
                    at,
                    act,
                    value: ActionValue::Known(value),
                }),
            ),
            ActionValue::Unknown(_) => {
                found.push(FoundAction { at, act: Act::Code, value: script });
            }
            ActionValue::None => {}
        }
    }
}

fn awk<'w>(row: &TableRow, args: &'w [Word], found: &mut Vec<FoundAction<'w>>) {
    for (at, program) in scripts(row, args, "--source") {
        match program {
            ActionValue::Known(text) => {
                found.extend(awk_program::actions(text).into_iter().map(|act| FoundAction {
                    at,
                    act,
                    value: program,
                }));
            }
            ActionValue::Unknown(_) => {
                found.push(FoundAction { at, act: Act::Code, value: program });
            }
            ActionValue::None => {}
        }
    }
}

/// Adds settings in values of a short option.
fn settings<'w>(
    args: &'w [Word],
    option: &str,
    names_program: impl Fn(&str) -> bool,
    found: &mut Vec<FoundAction<'w>>,
) {
    for (at, word) in args.iter().enumerate() {
        let Some(joined) = text_of(word).strip_prefix(option) else { continue };
        let next = at.saturating_add(1);
        let (at, setting) = match (joined.is_empty(), args.get(next)) {
            (true, Some(setting)) => (next, text_of(setting)),
            (true, None) => continue,
            (false, _) => (at, joined),
        };
        if names_program(setting) {
            let value = setting.split_once('=').map_or("", |(_, value)| value);
            found.push(FoundAction { at, act: Act::Command, value: ActionValue::Known(value) });
        }
    }
}

fn is_git_program(setting: &str) -> bool {
    let Some((name, _)) = setting.split_once('=') else { return false };
    let name = name.to_ascii_lowercase();
    !GIT_SETTINGS.iter().any(|own| name.starts_with(own))
}

fn is_ssh_program(setting: &str) -> bool {
    let name = setting.split(['=', ' ']).next().unwrap_or_default().to_ascii_lowercase();
    !SSH_SETTINGS.contains(&name.as_str())
}

fn git_config<'w>(args: &'w [Word], found: &mut Vec<FoundAction<'w>>) {
    let reads = args.iter().any(|word| READS_CONFIG.contains(&text_of(word)));
    let is_setting = operands(args).skip_while(|(_, word)| text_of(word) != "config").count() > 2;
    let edits = args
        .iter()
        .any(|word| matches!(text_of(word), "-e" | "--edit" | "--add" | "--replace-all"));
    if !reads && (is_setting || edits) {
        let last = args.len().saturating_sub(1);
        found.push(FoundAction { at: last, act: Act::Writes, value: ActionValue::None });
    }
}

/// Adds variables of make whose value is a program or a command.
fn make<'w>(args: &'w [Word], found: &mut Vec<FoundAction<'w>>) {
    for (at, word) in args.iter().enumerate() {
        let text = text_of(word);
        if is_make_program(text) {
            let value = text.split_once('=').map_or("", |(_, value)| value);
            found.push(FoundAction { at, act: Act::Command, value: ActionValue::Known(value) });
        }
    }
}

/// Returns whether a variable on the command line of make names a program or contains a command.
fn is_make_program(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=').filter(|_| !text.starts_with('-')) else {
        return false;
    };
    let name = name.trim_end_matches([':', '+', '?', '!']);
    let is_program = MAKE_PROGRAMS
        .iter()
        .any(|own| name == *own || name.strip_suffix(own).is_some_and(|rest| rest.ends_with('_')));
    is_program || value.contains(['$', '`', ';', '|', '&', '<', '>', '\n'])
}

/// Adds the actions of tar's first word without a dash: a cluster of options, with their values in
/// the next words.
fn tar<'w>(row: &TableRow, args: &'w [Word], found: &mut Vec<FoundAction<'w>>) {
    let Some(letters) = args.first().map(text_of).filter(|text| !text.starts_with('-')) else {
        return;
    };
    for (at, letter) in letters.char_indices() {
        let letter = letters.get(at..at.saturating_add(letter.len_utf8())).unwrap_or_default();
        if let Some((act, _)) = cluster_action(row, letter) {
            // Which of the next words is the value depends on the other letters.
            let value = if act == Act::Folder { ActionValue::None } else { value_of(args.get(1)) };
            found.push(FoundAction { at: 0, act, value });
        }
    }
}

fn has_sql_command(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let begins = |line: &str| {
        let line = line.trim_start();
        SQL_COMMANDS.iter().any(|own| line.starts_with(own) || line.contains("\\!"))
    };
    text.lines().any(begins) || SQL_WORDS.iter().any(|own| lower.contains(own))
}
