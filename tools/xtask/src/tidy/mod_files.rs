//! `mod.rs` files declare modules and re-export names, no more: code is found by the name of its
//! file, and `mod.rs` is no name.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use syn::Item;

use super::found::Found;
use super::modules::{attributes, is_for_tests};
use super::ratchet::{Ratchet, compare};
use crate::tree::File;

/// Compares the items of all `mod.rs` files with the table.
pub(super) fn check(files: &[File], ratchet: &Ratchet) -> Result<Found> {
    let unit = "items beside declarations and re-exports";
    Ok(compare(&all(files)?, &ratchet.mod_files, unit))
}

/// The items of each `mod.rs` that neither declare a module nor re-export, where there are any.
pub(super) fn all(files: &[File]) -> Result<BTreeMap<String, usize>> {
    let in_sources = |file: &&File| {
        let path = &file.path;
        path.ends_with("/mod.rs") && path.contains("/src/") && !path.contains("/tests/")
    };
    let mut found = BTreeMap::new();
    for file in files.iter().filter(in_sources) {
        let parsed =
            syn::parse_file(&file.text).with_context(|| format!("parsing {}", file.path))?;
        let count = parsed.items.iter().filter(|item| is_code(item)).count();
        if count > 0 {
            found.insert(file.path.clone(), count);
        }
    }
    Ok(found)
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

    #[test]
    fn code_is_told_from_declarations() {
        for (text, expected) in [
            ("//! H.\nmod a;\npub use a::B;\nuse std::fs;", 0),
            ("mod a;\nfn f() {}\nconst C: u8 = 1;", 2),
            ("mod a { fn f() {} }", 1),
            ("#[cfg(test)]\nmod tests { fn f() {} }", 0),
        ] {
            let file = File { path: "crates/x/src/m/mod.rs".to_owned(), text: text.to_owned() };
            let count = all(&[file]).unwrap().into_values().sum::<usize>();
            assert_eq!(count, expected, "{text}");
        }
        let helper = File { path: "crates/x/tests/it/mod.rs".to_owned(), text: "fn f() {}".into() };
        assert!(all(&[helper]).unwrap().is_empty());
    }
}
