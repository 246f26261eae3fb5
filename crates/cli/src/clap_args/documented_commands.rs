//! Tests that the program accepts every command line of the README and the pages.
//!
//! Otherwise, renamed commands and options would stay in examples unnoticed. Bash runs the blocks
//! with a program instead of `toolcrib` that records its arguments, and without any other program:
//! pipes, variables, quotes and comments have the same meaning as for a reader who copies the
//! block.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::command_groups;

/// Writes the arguments of a command in one write, because commands in the background write at the
/// same time.
const RECORDER: &str = "#!/bin/sh\nprintf '%s\\0' \"$@\" \"$(printf '\\1')\" >> \"$RECORD\"\n";

/// A block of commands: the number of its first line, and its text for a shell.
type Block = (usize, String);

/// Returns the `sh` blocks of a page, and the typed lines of its `console` blocks.
fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else { continue };
        let text = lines.by_ref().map(|(_, line)| line);
        let text: Vec<&str> = text.take_while(|line| line.trim_start() != "```").collect();
        match language {
            "sh" => found.push((at + 1, text.join("\n"))),
            "console" => found.push((at + 1, typed(&text))),
            _ => {}
        }
    }
    found
}

/// Returns the lines after the prompt, including those that a backslash continues.
fn typed(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut continues = false;
    for line in lines {
        let command = line.trim_start().strip_prefix("$ ");
        if let Some(command) = command.or_else(|| continues.then_some(*line)) {
            text += command;
            text.push('\n');
            continues = command.ends_with('\\');
        }
    }
    text
}

/// Returns the arguments of every `toolcrib` command that a block runs.
fn arguments(folder: &Path, block: &str) -> Vec<Vec<String>> {
    let record = folder.join("record");
    fs::write(&record, "").unwrap();
    let mut shell = Command::new("/bin/bash");
    shell.arg("-c").arg(block).current_dir(folder.join("work")).env_clear();
    shell.env("PATH", folder.join("bin")).env("RECORD", &record).env("HOME", folder.join("work"));
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().unwrap();
    let recorded = fs::read_to_string(&record).unwrap();
    let calls = recorded.split("\u{1}\0").filter(|call| !call.is_empty());
    calls.map(|call| call.split_terminator('\0').map(str::to_owned).collect()).collect()
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let own = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "clients/README.md"];
    own.into_iter().map(|name| root.join(name)).chain(docs).collect()
}

#[test]
fn every_documented_command_line_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bin", "work"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let program = folder.path().join("bin/toolcrib");
    fs::write(&program, RECORDER).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let (mut checked, mut refused) = (0, String::new());
    for path in pages() {
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let page = fs::read_to_string(&path).unwrap();
        for (line, block) in blocks(&page) {
            for words in arguments(folder.path(), &block) {
                checked += 1;
                let typed = std::iter::once("toolcrib").chain(words.iter().map(String::as_str));
                let parsed = command_groups::command().try_get_matches_from(typed);
                // clap reports `--help` and `--version` as errors for standard output.
                if let Some(error) = parsed.err().filter(clap::Error::use_stderr) {
                    let file = path.file_name().unwrap().display();
                    refused += &format!("{file}:{line}: toolcrib {}: {error}\n", words.join(" "));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{refused}");
    assert!(checked > 150, "only {checked} command lines were found");
}
