//! Are the edges between our crates those of the table?

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::edges_table::{ALLOWED, FOR_TESTS, IN_TESTS, OWNED};
use super::found::Found;

/// Compares what `cargo metadata --no-deps` prints with the table.
pub(super) fn check(metadata: &str) -> Result<Found> {
    let metadata: Value = serde_json::from_str(metadata).context("reading cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("cargo names no packages")?;
    Ok(Found::failures([not_allowed(packages), not_used(packages)].concat()))
}

fn not_allowed(packages: &[Value]) -> Vec<String> {
    let folders: BTreeMap<&str, &str> = packages.iter().filter_map(named).collect();
    let mut failures = Vec::new();
    for package in packages {
        let Some((_, folder)) = named(package) else { continue };
        failures.extend(lints(package, folder));
        if !ALLOWED.iter().any(|(name, _)| *name == folder) {
            failures.push(format!("crate {folder}: it has no row in the table"));
            continue;
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            failures.extend(judge(folder, dependency, &folders));
        }
    }
    failures
}

/// Edges of the table that no manifest has: the next one would come in unseen.
fn not_used(packages: &[Value]) -> Vec<String> {
    let folders: BTreeMap<&str, &str> = packages.iter().filter_map(named).collect();
    let uses = |from: &str, to: &str| {
        packages.iter().filter(|p| named(p).is_some_and(|(_, folder)| folder == from)).any(|p| {
            let dependencies = p["dependencies"].as_array().into_iter().flatten();
            let mut names = dependencies.filter_map(|dependency| dependency["name"].as_str());
            names.any(|name| folders.get(name) == Some(&to))
        })
    };
    let rows = ALLOWED.iter().flat_map(|(from, all)| all.iter().map(move |to| (*from, *to)));
    let in_tests = IN_TESTS.iter().map(|(from, to, _)| (*from, *to));
    let unused = rows.chain(in_tests).filter(|(from, to)| !uses(from, to));
    unused
        .map(|(from, to)| format!("{from} -> {to}: the table allows it, no manifest has it"))
        .collect()
}

/// The name of a package and the folder of its manifest.
fn named(package: &Value) -> Option<(&str, &str)> {
    let folder = package["manifest_path"].as_str()?.rsplit('/').nth(1)?;
    Some((package["name"].as_str()?, folder))
}

fn judge(from: &str, dependency: &Value, folders: &BTreeMap<&str, &str>) -> Option<String> {
    let name = dependency["name"].as_str()?;
    let for_tests = dependency["kind"] == "dev";
    match folders.get(name).filter(|_| dependency["path"].is_string()) {
        Some(&to) if !may_use(from, to, for_tests) => {
            let when = if for_tests { " (in tests)" } else { "" };
            Some(format!("{from} -> {to}{when}: this edge is not allowed"))
        }
        Some(_) => None,
        None => owned(from, name, for_tests),
    }
}

fn may_use(from: &str, to: &str, for_tests: bool) -> bool {
    let allowed = ALLOWED.iter().find(|(name, _)| *name == from).map_or(&[][..], |(_, to)| to);
    let in_tests = || to == FOR_TESTS || IN_TESTS.iter().any(|(a, b, _)| (*a, *b) == (from, to));
    allowed.contains(&to) || (for_tests && in_tests())
}

fn owned(from: &str, library: &str, for_tests: bool) -> Option<String> {
    let (_, users, why) = OWNED.iter().find(|(name, ..)| *name == library)?;
    let fine = for_tests || users.contains(&from);
    (!fine).then(|| format!("{from} -> {library}: only for {}: {why}", users.join(", ")))
}

/// The crate that may have `unsafe`. What is forbidden cannot be lifted for one block, so it
/// repeats the lints of the workspace.
const UNSAFE: &str = "sandbox";

/// Every crate takes the lints of the workspace.
fn lints(package: &Value, folder: &str) -> Option<String> {
    let path = Path::new(package["manifest_path"].as_str()?);
    let manifest = std::fs::read_to_string(path).ok()?;
    if folder == UNSAFE {
        let workspace =
            std::fs::read_to_string(path.ancestors().nth(3)?.join("Cargo.toml")).ok()?;
        let (wanted, has) =
            (lint_lines(&workspace, "[workspace.lints"), lint_lines(&manifest, "[lints"));
        let same = wanted.replace("unsafe_code = \"forbid\"", "unsafe_code = \"deny\"") == has;
        return (!same).then(|| {
            format!("crate {folder}: its lints are not those of the workspace with unsafe_code = \"deny\"")
        });
    }
    let takes = manifest.contains("[lints]\nworkspace = true");
    (!takes)
        .then(|| format!("crate {folder}: its manifest lacks `[lints]` with `workspace = true`"))
}

/// The lints of a manifest, without comments and headings.
fn lint_lines(manifest: &str, heading: &str) -> String {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in manifest.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if line.starts_with('[') {
            inside = line.starts_with(heading);
        } else if inside {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Failures of a workspace made of `core`, `engine`, `agent`, `builtins`, `net`, `testkit`,
    /// `bench`, `app`, `cli` and this one edge.
    fn failures(from: &str, to: &str, kind: Option<&str>) -> Vec<String> {
        let names = [
            "core", "engine", "agent", "builtins", "net", "testkit", "bench", "app", "cli", "novel",
        ];
        let packages: Vec<Value> = names
            .iter()
            .filter(|name| **name != "novel" || from == "novel")
            .map(|name| {
                let path = names.contains(&to).then(|| json!("somewhere"));
                let dependency =
                    if names.contains(&to) { format!("toolcrib-{to}") } else { to.to_owned() };
                let edge = json!({"name": dependency, "kind": kind, "path": path});
                json!({
                    "name": format!("toolcrib-{name}"),
                    "manifest_path": format!("/nowhere/crates/{name}/Cargo.toml"),
                    "dependencies": if *name == from { vec![edge] } else { vec![] },
                })
            })
            .collect();
        not_allowed(&packages)
    }

    #[test]
    fn edges_of_the_table_pass_and_others_fail() {
        for (from, to, kind, allowed) in [
            ("engine", "core", None, true),
            ("builtins", "net", None, true),
            ("cli", "app", None, true),
            ("bench", "engine", None, true),
            ("core", "testkit", Some("dev"), true),
            ("core", "testkit", None, false),
            ("core", "engine", None, false),
            ("core", "engine", Some("dev"), false),
            ("agent", "engine", Some("dev"), true),
            ("agent", "engine", None, false),
            ("builtins", "engine", None, false),
            ("builtins", "engine", Some("build"), false),
            ("cli", "engine", None, false),
            ("net", "core", None, false),
            ("engine", "builtins", Some("dev"), false),
            ("novel", "core", None, false),
            ("engine", "clap", None, false),
            ("cli", "clap", None, true),
            ("engine", "reqwest", None, false),
            ("builtins", "anyhow", Some("dev"), true),
            ("engine", "serde", None, true),
        ] {
            let found = failures(from, to, kind);
            assert_eq!(found.is_empty(), allowed, "{from} -> {to} ({kind:?}): {found:?}");
        }
    }

    #[test]
    fn the_table_has_no_cycle_and_no_unknown_crate() {
        let mut settled: Vec<&str> = Vec::new();
        let mut rest: Vec<_> = ALLOWED.to_vec();
        while !rest.is_empty() {
            let before = rest.len();
            rest.retain(|(name, uses)| {
                let ready = uses.iter().all(|used| settled.contains(used));
                if ready {
                    settled.push(name);
                }
                !ready
            });
            assert!(rest.len() < before, "a cycle or an unknown crate among {rest:?}");
        }
    }

    #[test]
    fn a_file_that_is_no_metadata_is_an_error() {
        assert!(check("{}").is_err());
        assert!(check("").is_err());
    }
}
