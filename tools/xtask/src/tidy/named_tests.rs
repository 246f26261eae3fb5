//! Tests that pages name as evidence, written `crates/NAME/PATH.rs::FUNCTION`: the file exists, and
//! the function is in it.

use std::collections::BTreeMap;

use super::found::Found;
use crate::tree::File;

/// Checks the code spans of all Markdown files.
pub(super) fn check(files: &[File]) -> Found {
    let texts: BTreeMap<&str, &str> =
        files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    Found::failures(pages.flat_map(|page| judge(page, &texts)).collect())
}

fn judge(page: &File, texts: &BTreeMap<&str, &str>) -> Vec<String> {
    let mut failures = Vec::new();
    for (number, line) in (1..).zip(page.text.lines()) {
        for (path, function) in line.split('`').filter_map(named) {
            let mut fail = |why: &str| {
                failures.push(format!("{}:{number}: `{path}::{function}`: {why}", page.path));
            };
            match texts.get(path) {
                None => fail("there is no such file"),
                Some(text) if !text.contains(&format!("fn {function}(")) => {
                    fail("the file has no such test");
                }
                Some(_) => {}
            }
        }
    }
    failures
}

/// The file and the function of a code span that names a test.
fn named(span: &str) -> Option<(&str, &str)> {
    let (path, function) = span.split_once("::")?;
    let is_word = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    (path.starts_with("crates/") && path.ends_with(".rs") && is_word(function))
        .then_some((path, function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_named_and_gone_is_found() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/a/tests/it/b.rs", "#[test]\nfn holds() {}\n"),
            file(
                "docs/a.md",
                "`crates/a/tests/it/b.rs::holds` `core::Invoker`\n| `crates/a/tests/it/b.rs::gone` |\n`crates/a/c.rs::holds`\n",
            ),
        ];
        assert_eq!(
            check(&files).failures,
            [
                "docs/a.md:2: `crates/a/tests/it/b.rs::gone`: the file has no such test",
                "docs/a.md:3: `crates/a/c.rs::holds`: there is no such file",
            ]
        );
    }
}
