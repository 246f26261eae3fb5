//! `cargo xtask tidy`: the house checks, each with a name, all failures listed, with a hint how to mend them.

mod edges;
mod edges_table;
mod sources;
mod sources_table;

use anyhow::{Result, bail};

use crate::{flags, gen_docs, process, tree};

/// What a check found.
#[derive(Debug, Default)]
struct Found {
    /// What has to be mended.
    failures: Vec<String>,
    /// What deserves a second look.
    warnings: Vec<String>,
    /// Why the check did not run, where it could not.
    skipped: Option<String>,
}

impl Found {
    fn failures(failures: Vec<String>) -> Self {
        Self { failures, ..Self::default() }
    }

    fn skipped(why: &str) -> Self {
        Self { skipped: Some(why.to_owned()), ..Self::default() }
    }
}

/// One named check.
struct Check {
    name: &'static str,
    /// Whether it takes seconds and needs no build.
    quick: bool,
    run: fn() -> Result<Found>,
    hint: &'static str,
}

const CHECKS: &[Check] = &[
    Check {
        name: "edges",
        quick: true,
        run: || edges::check(&process::output(&mut process::cargo(&METADATA))?),
        hint: "the table is crates/xtask/src/tidy/edges_table.rs; an edge that is not in it needs a reason in ARCHITECTURE.md first",
    },
    Check {
        name: "sources",
        quick: true,
        run: || Ok(sources::check(&tree::files()?)),
        hint: "the rules and their exceptions are crates/xtask/src/tidy/sources_table.rs",
    },
    Check { name: "format", quick: true, run: format, hint: "run `cargo fmt --all`" },
    Check {
        name: "clippy",
        quick: false,
        run: || command(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        hint: "mend what it names; where a lint is wrong, use #[expect(lint, reason = \"..\")]",
    },
    Check {
        name: "generated pages",
        quick: false,
        run: || Ok(Found::failures(gen_docs::outdated()?)),
        hint: "run `cargo xtask gen` and commit what changed",
    },
    Check { name: "licences", quick: false, run: licences, hint: "the policy is deny.toml" },
];

const METADATA: [&str; 4] = ["metadata", "--no-deps", "--format-version", "1"];

/// Runs the checks, or only the quick ones.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [quick] = flags(args, ["--quick"])?;
    let mut failed = Vec::new();
    for check in CHECKS.iter().filter(|check| check.quick || !quick) {
        let found = (check.run)().unwrap_or_else(|e| Found::failures(vec![format!("{e:#}")]));
        print(check, &found);
        if !found.failures.is_empty() {
            failed.push(check.name);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn print(check: &Check, found: &Found) {
    match (&found.skipped, found.failures.len()) {
        (Some(why), _) => println!("skip  {}: {why}", check.name),
        (None, 0) => println!("ok    {}", check.name),
        (None, count) => println!("FAIL  {} ({count})", check.name),
    }
    for failure in &found.failures {
        println!("        {failure}");
    }
    for warning in &found.warnings {
        println!("        warning: {warning}");
    }
    if !found.failures.is_empty() {
        println!("        hint: {}", check.hint);
    }
}

/// The files that rustfmt would write differently.
fn format() -> Result<Found> {
    let root = format!("{}/", tree::root().display());
    let mut failures = Vec::new();
    // `--all` goes into path dependencies too, so the fuzz crate is asked for itself alone.
    for args in [&["fmt", "--all"][..], &["fmt", "--manifest-path", "fuzz/Cargo.toml"]] {
        let check = ["--", "--check", "--files-with-diff"];
        let out = process::cargo(args).args(check).output()?;
        let (names, errors) = (String::from_utf8(out.stdout)?, String::from_utf8(out.stderr)?);
        let lines = names.lines().chain(errors.lines().filter(|_| !out.status.success()));
        failures.extend(lines.map(|line| line.replace(&root, "")));
    }
    Ok(Found::failures(failures))
}

/// A check that cargo does: its own output says what is wrong.
fn command(args: &[&str]) -> Result<Found> {
    let mut command = process::cargo(args);
    let shown = process::shown(&command);
    let passed = command.status()?.success();
    let failure = || format!("`{shown}` found something (above)");
    Ok(Found::failures(if passed { vec![] } else { vec![failure()] }))
}

fn licences() -> Result<Found> {
    if !process::works("cargo", &["deny", "--version"]) {
        return Ok(Found::skipped("cargo-deny is not installed (cargo install cargo-deny)"));
    }
    command(&["deny", "--workspace", "check"])
}
