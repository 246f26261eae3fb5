//! The checks that other programs do: cargo itself, and the pinned tools of `crate::tools`.

use std::process::Command;

use anyhow::Result;

use super::found::Found;

use crate::process::{self, FEATURES};
use crate::tools::{CARGO_DENY, CARGO_SHEAR, MDBOOK, TYPOS, Tool};
use crate::tree;

/// The files that rustfmt would write differently.
pub(super) fn format() -> Result<Found> {
    let root = format!("{}/", tree::root().display());
    let mut failures = Vec::new();
    // `--all` includes path dependencies, so the fuzz crate is checked on its own.
    for args in [&["fmt", "--all"][..], &["fmt", "--manifest-path", "fuzz/Cargo.toml"]] {
        let check = ["--", "--check", "--files-with-diff"];
        let out = process::cargo(args).args(check).output()?;
        let (names, errors) = (String::from_utf8(out.stdout)?, String::from_utf8(out.stderr)?);
        let lines = names.lines().chain(errors.lines().filter(|_| !out.status.success()));
        failures.extend(lines.map(|line| line.replace(&root, "")));
    }
    Ok(Found::failures(failures))
}

/// Clippy over all targets, with the features that the tests use.
pub(super) fn clippy() -> Result<Found> {
    let mut clippy = process::cargo(&["clippy", "--workspace", "--all-targets"]);
    passes(clippy.args(FEATURES).args(["--", "-D", "warnings"]))
}

/// Rustdoc of every crate: broken links and bad HTML are errors.
pub(super) fn rustdoc() -> Result<Found> {
    // The binary has no API, and its doc comments are help texts, not Markdown.
    let workspace = ["doc", "--workspace", "--exclude", "toolcrib", "--no-deps", "--keep-going"];
    let mut doc = process::cargo(&workspace);
    // Cargo refuses a feature of an excluded package, so this names the server's, which the
    // binary's turns on.
    doc.args(["--features", "toolcrib-server/postgres"]);
    passes(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// What of deny.toml needs no network, for the workspace and for the fuzz targets.
pub(super) fn licenses() -> Result<Found> {
    let mut found = Found::default();
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let of = |deny: &mut Command| {
            deny.args(["--manifest-path", manifest])
                .args(DENY)
                .args(["licenses", "bans", "sources"]);
        };
        let one = with(CARGO_DENY, of)?;
        found.failures.extend(one.failures);
        found.skipped = found.skipped.or(one.skipped);
    }
    Ok(found)
}

/// What `cargo deny` is always asked.
const DENY: [&str; 4] = ["--workspace", "--log-level", "error", "check"];

/// Known vulnerabilities. Their database is a Git repository on the network.
pub(super) fn advisories() -> Result<Found> {
    let deny = match CARGO_DENY.path() {
        Ok(deny) => deny,
        Err(error) => return Ok(Found::skipped(&format!("{error:#}"))),
    };
    let mut command = Command::new(deny);
    let out = command.current_dir(tree::root()).args(DENY).arg("advisories").output()?;
    let text = String::from_utf8_lossy(&out.stderr);
    if out.status.success() {
        return Ok(Found::default());
    }
    if text.contains("failed to fetch advisory database") {
        return Ok(Found::skipped("the advisory database cannot be reached from this machine"));
    }
    Ok(Found::failures(text.lines().map(str::to_owned).collect()))
}

/// Dependencies that no code uses, or that only tests use.
pub(super) fn unused_dependencies() -> Result<Found> {
    with(CARGO_SHEAR, |shear| {
        shear.args(["--locked", "--color", "never"]);
    })
}

/// Misspelled words; typos.toml has the exceptions.
pub(super) fn spelling() -> Result<Found> {
    with(TYPOS, |typos| {
        typos.args(["--format", "brief", "--color", "never"]);
    })
}

/// Builds the documentation site; a warning of mdBook is a failure.
pub(super) fn site() -> Result<Found> {
    let mdbook = match MDBOOK.path() {
        Ok(mdbook) => mdbook,
        Err(error) => return Ok(Found::skipped(&format!("{error:#}"))),
    };
    let mut command = Command::new(mdbook);
    command.current_dir(tree::root()).args(["build", "docs", "--dest-dir"]);
    let out = command.arg(tree::target_dir().join("book")).output()?;
    let text = String::from_utf8_lossy(&out.stderr);
    let is_bad = |line: &&str| line.contains("WARN") || line.contains("ERROR");
    let mut failures: Vec<String> = text.lines().filter(is_bad).map(str::to_owned).collect();
    if !out.status.success() && failures.is_empty() {
        failures.extend(text.lines().map(str::to_owned));
    }
    Ok(Found::failures(failures))
}

/// Runs one of the pinned tools; one that cannot be installed is reported as skipped.
fn with(tool: Tool, args: impl FnOnce(&mut Command)) -> Result<Found> {
    let program = match tool.path() {
        Ok(program) => program,
        Err(error) => return Ok(Found::skipped(&format!("{error:#}"))),
    };
    let mut command = Command::new(program);
    args(command.current_dir(tree::root()));
    passes(&mut command)
}

/// A check whose own output names the faults.
fn passes(command: &mut Command) -> Result<Found> {
    let shown = process::shown(command);
    let passed = command.status()?.success();
    let failure = || format!("`{shown}` found something (above)");
    Ok(Found::failures(if passed { vec![] } else { vec![failure()] }))
}
