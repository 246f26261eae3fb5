//! Risk assessment of a command line before it runs: its effect and risk, from the parser that
//! rules also use.
#![deny(clippy::indexing_slicing)]

use toolcrib_core::{Effect, Risk};
use toolcrib_shell_parser::{
    AllowBlocker, CommandLine, Interpretation, Kind, Segment, Word, parse,
};

/// Programs that act on other machines with a user's credentials, or gain privileges; critical.
const CRITICAL: &[&str] = &[
    "ssh",
    "scp",
    "sftp",
    "sshpass",
    "ssh-copy-id",
    "mosh",
    "telnet",
    "sudo",
    "doas",
    "su",
    "pkexec",
    "run0",
    "docker",
    "podman",
    "kubectl",
    "aws",
    "gcloud",
    "az",
];

/// Programs that destroy their arguments.
const DESTRUCTIVE: &[&str] =
    &["rm", "rmdir", "unlink", "shred", "dd", "truncate", "wipefs", "srm", "fallocate"];

/// Programs that only read, with any arguments.
const READ_ONLY: &[&str] = &[
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "pwd",
    "echo",
    "printf",
    "stat",
    "file",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "du",
    "df",
    "tree",
    "cut",
    "tr",
    "nl",
    "od",
    "hexdump",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "cmp",
    "diff",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "which",
    "type",
    "true",
    "false",
    "test",
    "[",
    "date",
    "uname",
    "id",
    "whoami",
    "ps",
    "seq",
];

/// Git subcommands that only read.
const GIT_READ_ONLY: &[&str] = &[
    "status",
    "log",
    "show",
    "diff",
    "blame",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "describe",
    "shortlog",
];

/// Git subcommands that can destroy uncommitted work or branches.
const GIT_DESTRUCTIVE: &[&str] = &["clean", "reset", "checkout", "restore", "rm", "switch"];

/// Returns effect and risk of a command line. Running any program has at least high risk.
pub(crate) fn assess(command: &str) -> (Effect, Risk) {
    assess_line(&parse(command))
}

fn assess_line(line: &CommandLine) -> (Effect, Risk) {
    let mut effect = Effect::Read;
    let mut risk = Risk::High;
    if line.fault.is_some() || line.segments.is_empty() {
        effect = Effect::SideEffect;
    }
    for segment in &line.segments {
        effect = effect.max(effect_of(segment));
        if segment.readings.iter().any(is_critical) {
            risk = Risk::Critical;
        }
        if segment.readings.iter().any(is_destructive) {
            effect = Effect::Destructive;
        }
    }
    (effect, risk)
}

fn effect_of(segment: &Segment) -> Effect {
    let changes = |block: &AllowBlocker| !matches!(block, AllowBlocker::Expansion(_));
    let looks = match &segment.kind {
        Kind::Command => {
            let readings = &segment.readings;
            !readings.is_empty()
                && readings.iter().all(is_read_only)
                && !segment.blocks.iter().any(changes)
        }
        Kind::Redirection { writes, .. } => !writes,
        Kind::Assignment => false,
    };
    if looks { Effect::Read } else { Effect::SideEffect }
}

/// Returns the program name without its folder.
fn name(reading: &Interpretation) -> Option<&str> {
    match reading.program() {
        Word::Known(name) => Some(name.rsplit('/').next().unwrap_or(name)),
        Word::Unknown(_) => None,
    }
}

/// Returns the first argument that is not an option.
fn first(reading: &Interpretation) -> Option<&str> {
    reading.args().iter().find_map(|word| match word {
        Word::Known(text) if !text.starts_with('-') => Some(text.as_str()),
        _ => None,
    })
}

fn has(reading: &Interpretation, words: &[&str]) -> bool {
    let is = |word: &Word| matches!(word, Word::Known(text) if words.contains(&text.as_str()));
    reading.args().iter().any(is)
}

fn is_critical(reading: &Interpretation) -> bool {
    match name(reading) {
        Some("git") => has(reading, &["push", "send-email", "daemon"]),
        Some("rsync") => reading.args().iter().any(
            |word| matches!(word, Word::Known(text) | Word::Unknown(text) if text.contains(':')),
        ),
        Some("npm" | "yarn" | "pnpm" | "cargo" | "gem" | "twine") => {
            has(reading, &["publish", "push", "upload"])
        }
        Some(name) => CRITICAL.contains(&name),
        None => false,
    }
}

fn is_destructive(reading: &Interpretation) -> bool {
    match name(reading) {
        Some("git") => {
            first(reading).is_some_and(|word| GIT_DESTRUCTIVE.contains(&word))
                || has(reading, &["--force", "-f", "-D", "--hard"])
        }
        Some("find") => has(reading, &["-delete"]),
        Some(name) => DESTRUCTIVE.contains(&name) || name.starts_with("mkfs"),
        None => false,
    }
}

fn is_read_only(reading: &Interpretation) -> bool {
    match name(reading) {
        Some("git") => {
            let writes = |word: &Word| matches!(word, Word::Known(text) if text.starts_with("--output") || text == "-o" || text == "-c");
            first(reading).is_some_and(|word| GIT_READ_ONLY.contains(&word))
                && !reading.args().iter().any(writes)
        }
        Some("sort" | "uniq") => false,
        Some(name) => READ_ONLY.contains(&name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_means_what_its_worst_part_means() {
        use Effect::{Destructive, Read, SideEffect};
        use Risk::{Critical, High};
        let check = |line: &str, effect, risk| assert_eq!(assess(line), (effect, risk), "{line}");
        check("ls -la | head -3", Read, High);
        check("cat a.txt && git status", Read, High);
        check("cat a.txt > b.txt", SideEffect, High);
        check("grep x $(ls)", Read, High);
        check("grep x $(touch y)", SideEffect, High);
        check("echo $HOME 2>/dev/null", Read, High);
        check("A=1 ls", SideEffect, High);
        check("cargo test", SideEffect, High);
        check("./run.sh", SideEffect, High);
        check("$CMD x", SideEffect, High);
        check("ls; rm -rf build", Destructive, High);
        check("env rm x", Destructive, High);
        check("bash -c 'rm x'", Destructive, High);
        check("find . -name x -delete", Destructive, High);
        check("git reset --hard", Destructive, High);
        check("git push origin main", SideEffect, Critical);
        check("git -C sub push", SideEffect, Critical);
        check("timeout 5 ssh host ls", SideEffect, Critical);
        check("sudo ls", SideEffect, Critical);
        check("/usr/bin/ssh host", SideEffect, Critical);
        check("cargo publish", SideEffect, Critical);
        check("rsync -a . host:/x", SideEffect, Critical);
        check("git log --output=x", SideEffect, High);
        check("git log -3 --stat", Read, High);
        check("if true; then", SideEffect, High);
        check("", SideEffect, High);
        check("find . -exec rm {} +", Destructive, High);
    }
}
