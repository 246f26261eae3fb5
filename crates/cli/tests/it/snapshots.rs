//! Snapshots of output for people. `INSTA_UPDATE=always` rewrites them; review the difference like
//! any other change.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{Ended, TestEnv, end};

/// Number of columns of the help text; without a terminal, nothing else determines the width.
const COLUMNS: &str = "100";

/// Parts that differ from run to run, and their replacements.
const REDACTED: [(&str, &str); 6] = [
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?", "[date]"),
    (r"\b([a-z]+)_[0-9a-f]{10,32}\b", "${1}_[id]"),
    (r"\b[0-9a-f]{64}\b", "[hash]"),
    (r"\b\d+(\.\d+)? ?(us|µs|ms|s|min)\b", "[time]"),
    // The widths of columns depend on the times in them.
    (r"(\S) {2,}", "${1}  "),
    (r"(?m)[ \t]+$", ""),
];

/// Runs a command as a person would, with a fixed width.
pub(crate) fn run(env: &TestEnv, args: &[&str]) -> Ended {
    let mut command = env.command(args);
    command.env("COLUMNS", COLUMNS);
    end(command, b"")
}

/// Compares a text with its snapshot.
#[track_caller]
pub(crate) fn compare(folder: &str, name: &str, text: &str) {
    settings(folder).bind(|| insta::assert_snapshot!(name, text));
}

/// Runs a command and compares its output and its exit code with the snapshot.
#[track_caller]
pub(crate) fn compare_run(env: &TestEnv, folder: &str, name: &str, args: &[&str]) {
    let ended = run(env, args);
    let text = format!(
        "$ toolcrib {}\n{}--- standard error\n{}--- exit code {}\n",
        args.join(" "),
        ended.stdout,
        ended.stderr,
        ended.code
    );
    let outside = env.outside().canonicalize().unwrap();
    let text = [outside.as_path(), env.outside()].into_iter().fold(text, |text, folder| {
        let text = text.replace(&*folder.join("home").to_string_lossy(), "[state]");
        text.replace(&*folder.to_string_lossy(), "[folder]")
    });
    let mut settings = settings(folder);
    for (pattern, instead) in REDACTED {
        settings.add_filter(pattern, instead);
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn settings(folder: &str) -> insta::Settings {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(Path::new("snapshots").join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// Fails if there are snapshots of removed commands.
#[track_caller]
pub(crate) fn no_others(folder: &str, names: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots").join(folder);
    let there: BTreeSet<String> = fs::read_dir(path)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".snap").map(str::to_owned))
        .collect();
    let wanted: BTreeSet<String> = names.iter().cloned().collect();
    let left: Vec<&String> = there.difference(&wanted).collect();
    assert!(left.is_empty(), "remove the snapshots of {left:?} in {folder}");
}
