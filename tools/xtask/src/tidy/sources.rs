//! Do the files of the tree keep to the house rules?

use super::found::Found;
use super::sources_table::{At, BANNED, Banned, LONGER, LOOK_AGAIN, MAY_SAY, MOST};
use crate::tree::File;

/// Judges every file.
pub(super) fn check(files: &[File]) -> Found {
    let mut found = Found::default();
    for file in files {
        if is_rust(file) {
            header(file, &mut found);
            length(file, &mut found);
        }
        words(file, &mut found);
    }
    stale_exceptions(files, &mut found);
    found
}

fn is_rust(file: &File) -> bool {
    file.path.ends_with(".rs")
}

/// The first line says what the file is for.
fn header(file: &File, found: &mut Found) {
    let first = file.text.lines().next().unwrap_or_default();
    if first.strip_prefix("//!").is_none_or(|text| text.trim().is_empty()) {
        found
            .failures
            .push(format!("{}:1: opens without a `//!` line that says what it is for", file.path));
    }
}

fn length(file: &File, found: &mut Found) {
    let lines = file.text.lines().count();
    let excepted = LONGER.iter().any(|(path, _)| *path == file.path);
    if lines > MOST && !excepted {
        found.failures.push(format!("{}: {lines} lines, more than {MOST}: split it", file.path));
    } else if lines > LOOK_AGAIN && !excepted {
        found.warnings.push(format!("{}: {lines} lines; about 300 is the aim", file.path));
    }
}

fn words(file: &File, found: &mut Found) {
    let banned = || BANNED.iter().filter(|b| is_rust(file) || !b.rust);
    // One look at the whole text first: nearly every file is clean.
    for banned in banned().filter(|b| file.text.contains(b.words) && !may_say(file, b)) {
        for (number, line) in file.text.lines().enumerate() {
            if says(line, banned) {
                let (at, words, instead) = (number + 1, banned.words, banned.instead);
                found.failures.push(format!("{}:{at}: `{words}`: {instead}", file.path));
            }
        }
    }
}

fn may_say(file: &File, banned: &Banned) -> bool {
    MAY_SAY.iter().any(|(path, words, _)| *path == file.path && *words == banned.words)
}

fn says(line: &str, banned: &Banned) -> bool {
    line.match_indices(banned.words).any(|(at, words)| {
        let (before, after) = line.split_at(at);
        let before = before.chars().next_back();
        let after = after.chars().nth(words.chars().count());
        let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        match banned.at {
            At::Anywhere => true,
            At::Word => !in_word(before) && !in_word(after),
            At::Start => line.trim_start().starts_with(words),
            At::Path => before.is_none_or(|c| !c.is_alphanumeric() && !"._-}$~/".contains(c)),
        }
    })
}

/// An exception without its file is a leftover.
fn stale_exceptions(files: &[File], found: &mut Found) {
    let listed = LONGER.iter().map(|(path, _)| *path).chain(MAY_SAY.iter().map(|(path, ..)| *path));
    for path in listed {
        if !files.iter().any(|file| file.path == path) {
            found
                .failures
                .push(format!("{path}: excepted in the table, but there is no such file"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str) -> Found {
        let mut found = Found::default();
        let file = File { path: path.to_owned(), text: text.to_owned() };
        if is_rust(&file) {
            header(&file, &mut found);
            length(&file, &mut found);
        }
        words(&file, &mut found);
        found
    }

    #[test]
    fn the_header_is_the_first_line() {
        for (text, fine) in [
            ("//! Says it.\n", true),
            ("//! Says it.", true),
            ("", false),
            ("//!\n", false),
            ("// Says it.\n", false),
            ("use std::fs;\n//! Too late.\n", false),
        ] {
            assert_eq!(check("a.rs", text).failures.is_empty(), fine, "{text:?}");
        }
        assert!(check("a.toml", "x = 1").failures.is_empty());
    }

    #[test]
    fn long_files_warn_then_fail() {
        let file = |lines: usize| format!("//! Long.\n{}", "\n".repeat(lines - 1));
        for (lines, warnings, failures) in [(400, 0, 0), (401, 1, 0), (800, 1, 0), (801, 0, 1)] {
            let found = check("a.rs", &file(lines));
            assert_eq!(
                (found.warnings.len(), found.failures.len()),
                (warnings, failures),
                "{lines}"
            );
        }
    }

    #[test]
    fn banned_words_are_found_where_they_stand() {
        for (path, line, fine) in [
            ("a.rs", concat!("#[", "allow(dead_code)]"), false),
            ("a.rs", "#[expect(dead_code, reason = \"r\")]", true),
            ("a.rs", concat!("to", "do!()"), false),
            ("a.rs", concat!("my_to", "do!()"), true),
            ("a.rs", concat!("// FIX", "ME: later"), false),
            ("a.rs", concat!("XX", "XX"), true),
            ("a.rs", concat!("    #[ig", "nore = \"slow\"]"), false),
            ("a.rs", concat!("let s = \"#[ig", "nore]\";"), true),
            ("a.md", concat!("see /ro", "ot/x"), false),
            ("a.md", concat!("see <dir>/ro", "ot/x"), false),
            ("a.md", concat!("http://example.org/ro", "ot/x"), true),
            ("a.md", concat!("$HOME/wo", "rk/x"), true),
            ("a.md", concat!("\"/ho", "me/somebody\""), false),
            ("a.md", concat!("https://crates", ".io/x"), false),
            ("a.md", concat!("to", "do!"), true),
            ("Cargo.lock", concat!("index.crates", ".io"), true),
        ] {
            let text = format!("//! H.\n{line}\n");
            let found = check(path, &text).failures;
            assert_eq!(found.is_empty(), fine, "{path}: {line}");
            assert!(found.iter().all(|f| f.starts_with(&format!("{path}:2:"))), "{found:?}");
        }
    }
}
