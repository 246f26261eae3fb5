//! `mod.rs` files declare modules and re-export names, no more: code is found by the name of its
//! file, and `mod.rs` is no name.

use anyhow::{Context, Result};
use syn::Item;

use super::found::Found;
use super::modules::{attributes, is_for_tests};
use crate::tree::File;

/// Names each `mod.rs` with items that neither declare a module nor re-export.
pub(super) fn check(files: &[File]) -> Result<Found> {
    let in_sources = |file: &&File| {
        let path = &file.path;
        path.ends_with("/mod.rs") && path.contains("/src/") && !path.contains("/tests/")
    };
    let mut failures = Vec::new();
    for file in files.iter().filter(in_sources) {
        let parsed =
            syn::parse_file(&file.text).with_context(|| format!("parsing {}", file.path))?;
        let count = parsed.items.iter().filter(|item| is_code(item)).count();
        if count > 0 {
            let path = &file.path;
            failures.push(format!("{path}: {count} items; move them to a file with a name"));
        }
    }
    Ok(Found::failures(failures))
}

fn is_code(item: &Item) -> bool {
    let declares = match item {
        Item::Mod(inner) => inner.content.is_none(),
        Item::Use(_) | Item::ExternCrate(_) => true,
        _ => false,
    };
    !declares && !is_for_tests(attributes(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(path: &str, text: &str) -> Vec<String> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).unwrap().failures
    }

    #[test]
    fn code_is_told_from_declarations() {
        for (text, expected) in [
            ("//! H.\nmod a;\npub use a::B;\nuse std::fs;", None),
            ("mod a;\nfn f() {}\nconst C: u8 = 1;", Some("2 items")),
            ("mod a { fn f() {} }", Some("1 items")),
            ("#[cfg(test)]\nmod tests { fn f() {} }", None),
        ] {
            let failures = check_one("crates/x/src/m/mod.rs", text);
            assert_eq!(failures.len(), usize::from(expected.is_some()), "{text}");
            let named = failures.iter().all(|line| line.contains(expected.unwrap_or_default()));
            assert!(named, "{text}: {failures:?}");
        }
        assert!(check_one("crates/x/tests/it/mod.rs", "fn f() {}").is_empty());
    }
}
