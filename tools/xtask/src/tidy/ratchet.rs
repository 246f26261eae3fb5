//! The table of what is not yet as it should be, tools/xtask/ratchet.toml: counts that may shrink
//! and never grow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::found::Found;
use super::{circles, comment_width, mod_files};
use crate::tree::{self, File};

const PATH: &str = "tools/xtask/ratchet.toml";

const ABOUT: &str =
    "# What is not yet as it should be. Each number may shrink, never grow; after an improvement
# `cargo xtask tidy --update` writes the new ones. A larger number or a new row needs a reason and
# is written by `cargo xtask tidy --update --grow`, so that it is seen in review.
";

/// The table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Ratchet {
    /// Folder of a crate, and its comment lines of more than 100 columns.
    pub(super) long_comment_lines: BTreeMap<String, usize>,
    /// Path of a `mod.rs`, and its items beside declarations and re-exports.
    pub(super) mod_files: BTreeMap<String, usize>,
    /// Circles of more than five files.
    #[serde(default)]
    pub(super) circles: Vec<Circle>,
}

/// A circle of files inside a crate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Circle {
    /// One of its files, by which it is known.
    pub(super) member: String,
    /// How many files it has.
    pub(super) files: usize,
    /// Why it is there.
    pub(super) reason: String,
}

/// Reads the table.
pub(super) fn read() -> Result<Ratchet> {
    let text =
        fs::read_to_string(tree::root().join(PATH)).with_context(|| format!("reading {PATH}"))?;
    toml::from_str(&text).with_context(|| format!("reading {PATH}"))
}

/// What differs from the table: a larger count fails, a smaller one is a warning.
pub(super) fn compare(
    counts: &BTreeMap<String, usize>,
    table: &BTreeMap<String, usize>,
    unit: &str,
) -> Found {
    let mut found = Found::default();
    let of = |map: &BTreeMap<String, usize>, name: &str| map.get(name).copied().unwrap_or_default();
    for name in counts.keys().chain(table.keys()).collect::<BTreeSet<_>>() {
        let (now, allowed) = (of(counts, name), of(table, name));
        let text = format!("{name}: {now} {unit}, the table says {allowed}");
        if now > allowed {
            found.failures.push(text);
        } else if now < allowed {
            found.warnings.push(format!("{text}; run `cargo xtask tidy --update`"));
        }
    }
    found
}

/// Writes the table anew: with lower numbers only, or with all of today's.
pub(super) fn update(files: &[File], grow: bool) -> Result<()> {
    let before = read()?;
    let counts = |now: BTreeMap<String, usize>, before: &BTreeMap<String, usize>| {
        let kept = now.into_iter().filter_map(|(name, count)| {
            let known = before.get(&name).copied();
            let count = if grow { Some(count) } else { known.map(|known| known.min(count)) };
            Some((name, count?))
        });
        kept.collect::<BTreeMap<_, _>>()
    };
    let after = Ratchet {
        long_comment_lines: counts(comment_width::all(files), &before.long_comment_lines),
        mod_files: counts(mod_files::all(files)?, &before.mod_files),
        circles: circle_rows(&circles::all(files)?, &before.circles, grow),
    };
    let text = written(&after);
    fs::write(tree::root().join(PATH), text).with_context(|| format!("writing {PATH}"))?;
    println!("wrote {PATH}");
    Ok(())
}

fn circle_rows(found: &[BTreeSet<String>], before: &[Circle], grow: bool) -> Vec<Circle> {
    let mut rows: Vec<Circle> = Vec::new();
    for circle in found {
        let known = before.iter().find(|row| circle.contains(&row.member));
        let files = known.map_or(usize::MAX, |row| row.files);
        let fresh = || Circle {
            member: circle.first().cloned().unwrap_or_default(),
            files: circle.len(),
            reason: "not yet taken apart".to_owned(),
        };
        if grow || known.is_some() {
            let row = known.cloned().unwrap_or_else(fresh);
            let files = if grow { circle.len() } else { circle.len().min(files) };
            rows.push(Circle { files, ..row });
        }
    }
    rows
}

fn written(ratchet: &Ratchet) -> String {
    let mut text = ABOUT.to_owned();
    let tables = [
        (
            "long-comment-lines",
            "Comment lines of more than 100 columns",
            &ratchet.long_comment_lines,
        ),
        (
            "mod-files",
            "Items in mod.rs files that are neither declarations nor re-exports",
            &ratchet.mod_files,
        ),
    ];
    for (name, about, counts) in tables {
        let _ = write!(text, "\n# {about}.\n[{name}]\n");
        for (name, count) in counts {
            let _ = writeln!(text, "{name:?} = {count}");
        }
    }
    if !ratchet.circles.is_empty() {
        text.push_str("\n# Circles of more than five files, each known by one of them.\n");
    }
    for Circle { member, files, reason } in &ratchet.circles {
        let _ = write!(
            text,
            "[[circles]]\nmember = {member:?}\nfiles = {files}\nreason = {reason:?}\n\n"
        );
    }
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn counts_that_differ_are_named() {
        let found = compare(
            &counts(&[("less", 1), ("more", 3), ("new", 1), ("same", 2)]),
            &counts(&[("gone", 1), ("less", 2), ("more", 2), ("same", 2)]),
            "x",
        );
        assert_eq!(found.failures, ["more: 3 x, the table says 2", "new: 1 x, the table says 0"]);
        assert_eq!(
            found.warnings,
            [
                "gone: 0 x, the table says 1; run `cargo xtask tidy --update`",
                "less: 1 x, the table says 2; run `cargo xtask tidy --update`",
            ]
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let row =
            |member: &str| Circle { member: member.into(), files: 7, reason: "r \"q\"".into() };
        let table = Ratchet {
            long_comment_lines: counts(&[("crates/a", 2)]),
            mod_files: counts(&[("crates/a/src/m/mod.rs", 1)]),
            circles: vec![row("a.rs"), row("b.rs")],
        };
        let again: Ratchet = toml::from_str(&written(&table)).unwrap();
        assert_eq!(format!("{again:?}"), format!("{table:?}"));
    }

    #[test]
    fn an_update_lowers_and_adds_only_when_asked() {
        let circle: BTreeSet<String> = (0..8).map(|n| format!("{n}.rs")).collect();
        let row = |files| Circle { member: "3.rs".into(), files, reason: "r".into() };
        let update = |before: &[Circle], grow| {
            let rows = circle_rows(std::slice::from_ref(&circle), before, grow);
            rows.into_iter().map(|row| (row.member, row.files)).collect::<Vec<_>>()
        };
        assert_eq!(update(&[row(9)], false), [("3.rs".to_owned(), 8)]);
        assert_eq!(update(&[row(7)], false), [("3.rs".to_owned(), 7)]);
        assert_eq!(update(&[row(7)], true), [("3.rs".to_owned(), 8)]);
        assert_eq!(update(&[], false), []);
        assert_eq!(update(&[], true), [("0.rs".to_owned(), 8)]);
    }
}
