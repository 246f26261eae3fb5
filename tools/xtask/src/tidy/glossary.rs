//! The glossary names each term once, and the crate and the item that it names exist.

use std::collections::BTreeSet;

use super::found::Found;
use crate::tree::File;

const GLOSSARY: &str = "docs/glossary.md";

/// Words before the name of an item where it is defined.
const DEFINITIONS: &[&str] = &["struct ", "enum ", "trait ", "type ", "fn ", "mod ", "union "];

/// Checks every row of the tables.
pub(super) fn check(files: &[File]) -> Found {
    let Some(page) = files.iter().find(|file| file.path == GLOSSARY) else {
        return Found::failures(vec![format!("{GLOSSARY} is gone")]);
    };
    Found::failures(judge(&page.text, files))
}

fn judge(page: &str, files: &[File]) -> Vec<String> {
    let mut failures = Vec::new();
    let mut terms = BTreeSet::new();
    for (at, line) in page.lines().enumerate() {
        let Some((term, place)) = row(line) else { continue };
        let mut fail = |why: String| failures.push(format!("{GLOSSARY}:{}: {why}", at + 1));
        if !terms.insert(term) {
            fail(format!("{term:?} has two rows"));
        }
        let mut folder = None;
        for name in place.split('`').skip(1).step_by(2) {
            let named = format!("crates/{name}/");
            if files.iter().any(|file| file.path.starts_with(&named)) {
                folder = Some(named);
            } else if name.ends_with('/') {
                if !files.iter().any(|file| file.path.starts_with(name)) {
                    fail(format!("there is no folder {name}"));
                }
            } else if let Some(folder) = &folder {
                if !has(files, folder, name) {
                    fail(format!("{folder} has no {name:?}"));
                }
            } else {
                fail(format!("there is no crate {name:?}"));
            }
        }
    }
    failures
}

/// The term and the place of a row with three columns; nothing for other lines.
fn row(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix("| ")?.strip_suffix('|')?;
    let (term, rest) = inner.split_once('|')?;
    let (_, place) = rest.rsplit_once('|')?;
    place.contains('`').then_some((term.trim(), place))
}

/// Whether the crate has a file or folder of this name, or defines an item of it. Of `Type::Item`
/// the last part counts.
fn has(files: &[File], folder: &str, name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    let file = format!("/{last}.rs");
    let below = format!("/{last}/");
    files.iter().filter(|file| file.path.starts_with(folder)).any(|one| {
        one.path.ends_with(&format!("/{name}"))
            || one.path.ends_with(&file)
            || one.path.contains(&below)
            || one.path.ends_with(".rs") && defines(&one.text, last)
    })
}

fn defines(text: &str, item: &str) -> bool {
    let whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    text.lines().any(|line| {
        let line = line.trim_start();
        let variant = line.strip_prefix(item).is_some_and(|rest| rest.starts_with(['(', ',', ' ']));
        variant
            || DEFINITIONS.iter().any(|word| {
                line.split_once(word)
                    .and_then(|(_, rest)| rest.strip_prefix(item))
                    .is_some_and(whole)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_row_names_what_exists_and_a_term_has_one_row() {
        let files = [
            file("crates/core/src/tool.rs", "pub struct Tool {\n}\nenum Tier {\n    Innate,\n}\n"),
            file("crates/engine/src/rules/floor/mod.rs", ""),
        ];
        let page = "| term | meaning | in code |\n|---|---|---|\n\
            | tool | an operation | `core`: `Tool` |\n\
            | innate | always there | `core`: `Tier::Innate` |\n\
            | floor | what always asks | `engine`: `rules::floor` |\n\
            | tool | again | `core`: `Tool` |\n\
            | door | it moved | `core`: `Door` |\n\
            | net | no such crate | `nets` |\n";
        let found = judge(page, &files);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("\"tool\" has two rows"), "{found:?}");
        assert!(found[1].contains("crates/core/ has no \"Door\""), "{found:?}");
        assert!(found[2].contains("there is no crate \"nets\""), "{found:?}");
    }
}
