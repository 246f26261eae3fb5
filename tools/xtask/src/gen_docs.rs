//! `cargo xtask gen`: the pages under `docs/` that would drift if they were written by hand,
//! generated from the binary and the sources.

mod binary;
mod cli;
mod defaults;
mod errors;
mod events;
mod markdown;
mod rest;
mod tools;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::flags::flags;
use crate::tree;
use binary::Binary;

/// A generated page.
struct Page {
    path: &'static str,
    write: fn(&Binary) -> Result<String>,
}

const PAGES: &[Page] = &[
    Page { path: "docs/tools.md", write: tools::page },
    Page { path: "docs/cli.md", write: cli::page },
    Page { path: "docs/errors.md", write: errors::page },
    Page { path: "docs/defaults.md", write: |_| defaults::page() },
    Page { path: "docs/events.md", write: |_| events::page() },
    Page { path: "docs/rest-routes.md", write: rest::page },
    Page { path: "docs/openapi.json", write: rest::document },
];

/// Writes the pages, or says which are out of date.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [check] = flags(args, ["--check"])?;
    if check {
        let outdated = outdated()?;
        if !outdated.is_empty() {
            bail!("{}\nrun `cargo xtask gen`", outdated.join("\n"));
        }
        println!("{} pages are up to date", PAGES.len());
        return Ok(());
    }
    for (path, text) in pages()? {
        let file = tree::root().join(path);
        let changed = fs::read_to_string(&file).ok().as_deref() != Some(&text);
        if changed {
            fs::create_dir_all(file.parent().context("a page without a folder")?)?;
            fs::write(&file, text).with_context(|| format!("writing {path}"))?;
        }
        println!("{} {path}", if changed { "wrote    " } else { "unchanged" });
    }
    Ok(())
}

/// The pages that are not what would be written now, each with its first different line.
pub(crate) fn outdated() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (path, text) in pages()? {
        let there = fs::read_to_string(tree::root().join(path)).unwrap_or_default();
        if let Some(line) = first_difference(&there, &text) {
            found.push(format!("{path}:{line}: out of date"));
        }
    }
    Ok(found)
}

fn pages() -> Result<Vec<(&'static str, String)>> {
    let binary = Binary::build()?;
    PAGES
        .iter()
        .map(|page| {
            let text = (page.write)(&binary).with_context(|| format!("writing {}", page.path))?;
            Ok((page.path, text))
        })
        .collect()
}

/// Number of the first line that differs, from 1.
fn first_difference(a: &str, b: &str) -> Option<usize> {
    if a == b {
        return None;
    }
    let same = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        for (a, b, expected) in [
            ("x\ny\n", "x\ny\n", None),
            ("x\ny\n", "x\nz\n", Some(2)),
            ("x\n", "x\ny\n", Some(2)),
            ("", "x\n", Some(1)),
            ("x", "x\n", Some(2)),
        ] {
            assert_eq!(first_difference(a, b), expected, "{a:?} {b:?}");
        }
    }
}
