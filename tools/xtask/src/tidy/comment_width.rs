//! Comment lines end at the column at which rustfmt ends code.

use std::collections::BTreeMap;

use super::found::Found;
use super::ratchet::{Ratchet, compare};
use crate::tree::File;

/// `max_width` of rustfmt.
const WIDTH: usize = 100;

/// Compares the count of long comment lines in each crate with the table.
pub(super) fn check(files: &[File], ratchet: &Ratchet) -> Found {
    let unit = "comment lines of more than 100 columns";
    let mut found = compare(&all(files), &ratchet.long_comment_lines, unit);
    if !found.failures.is_empty() {
        // Where the table is at zero, each line is named.
        let strict = |path: &str| {
            crate_of(path).is_some_and(|name| !ratchet.long_comment_lines.contains_key(name))
        };
        found.failures.extend(files.iter().filter(|f| strict(&f.path)).flat_map(|file| {
            let lines = file.text.lines().enumerate().filter(|(_, line)| is_long(line));
            lines.map(|(at, _)| format!("{}:{}: wrap this comment", file.path, at + 1))
        }));
    }
    found
}

/// The long comment lines of each crate that has any.
pub(super) fn all(files: &[File]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for file in files {
        let Some(name) = crate_of(&file.path) else { continue };
        let count = file.text.lines().filter(|line| is_long(line)).count();
        if count > 0 {
            *counts.entry(name.to_owned()).or_default() += count;
        }
    }
    counts
}

/// `crates/core` of `crates/core/src/lib.rs`.
fn crate_of(path: &str) -> Option<&str> {
    let second = path.match_indices('/').nth(1)?.0;
    let known =
        path.ends_with(".rs") && (path.starts_with("crates/") || path.starts_with("tools/"));
    if known { path.get(..second) } else { None }
}

/// A line that is only a comment; a link that does not fit stays whole.
fn is_long(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("//") && !text.contains("://") && line.chars().count() > WIDTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_are_counted() {
        let long = "x".repeat(WIDTH);
        for (line, expected) in [
            (format!("/// {long}"), true),
            (format!("    // {long}"), true),
            (format!("let x = \"{long}\"; // why"), false),
            (format!("// https://example.org/{long}"), false),
            ("// short".to_owned(), false),
            (format!("//{}", &long[2..]), false),
        ] {
            assert_eq!(is_long(&line), expected, "{line}");
        }
        let file = |path: &str| File { path: path.to_owned(), text: format!("// {long}\n") };
        let counts = all(&[file("crates/a/src/x.rs"), file("crates/a/b.rs"), file("fuzz/x.rs")]);
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("crates/a".to_owned(), 2)]);
    }
}
