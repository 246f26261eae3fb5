//! `cargo xtask tidy`: the house checks, each with a name, all its failures and a hint how to
//! correct them.

mod circles;
mod comment_width;
mod edges;
mod edges_table;
mod external;
mod found;
mod glossary;
mod links;
mod mod_files;
mod modules;
mod named_tests;
mod sources;
mod sources_table;

use std::time::Instant;

use anyhow::{Result, bail};

use found::Found;

use crate::flags::flags;
use crate::{gen_docs, process, tree};

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
        hint: "the table is tools/xtask/src/tidy/edges_table.rs; a new edge needs a reason in ARCHITECTURE.md first",
    },
    Check {
        name: "sources",
        quick: true,
        run: || Ok(sources::check(&tree::files()?)),
        hint: "the rules and their exceptions are tools/xtask/src/tidy/sources_table.rs",
    },
    Check {
        name: "circles of files",
        quick: true,
        run: || circles::check(&tree::files()?),
        hint: "move what both sides need into a file of its own",
    },
    Check {
        name: "mod.rs files",
        quick: true,
        run: || mod_files::check(&tree::files()?),
        hint: "move the code into a file with a name",
    },
    Check {
        name: "width of comments and pages",
        quick: true,
        run: || Ok(comment_width::check(&tree::files()?)),
        hint: "wrap comments and prose at 100 columns",
    },
    Check {
        name: "links",
        quick: true,
        run: || Ok(links::check(&tree::files()?)),
        hint: "correct the link, or the heading that it names",
    },
    Check {
        name: "glossary",
        quick: true,
        run: || Ok(glossary::check(&tree::files()?)),
        hint: "docs/glossary.md has one row per term, with the crate and the item or file as they are called now",
    },
    Check {
        name: "named tests",
        quick: true,
        run: || Ok(named_tests::check(&tree::files()?)),
        hint: "name the test that shows the claim now, or take the claim back",
    },
    Check { name: "format", quick: true, run: external::format, hint: "run `cargo fmt --all`" },
    Check {
        name: "spelling",
        quick: false,
        run: external::spelling,
        hint: "correct the word; words that are right go into typos.toml",
    },
    Check {
        name: "unused dependencies",
        quick: false,
        run: external::unused_dependencies,
        hint: "remove the dependency from its Cargo.toml, or move it to [dev-dependencies]",
    },
    Check {
        name: "licenses, bans, sources",
        quick: false,
        run: external::licenses,
        hint: "the policy is deny.toml",
    },
    Check {
        name: "advisories",
        quick: false,
        run: external::advisories,
        hint: "update the crate; deny.toml lists exceptions with their reasons",
    },
    Check {
        name: "documentation site",
        quick: false,
        run: external::site,
        hint: "mdBook builds it from docs/SUMMARY.md",
    },
    Check {
        name: "clippy",
        quick: false,
        run: external::clippy,
        hint: "correct what it names; where a lint is wrong, use #[expect(lint, reason = \"..\")]",
    },
    Check {
        name: "rustdoc",
        quick: false,
        run: external::rustdoc,
        hint: "correct the link or the markup that it names",
    },
    Check {
        name: "generated pages",
        quick: false,
        run: || Ok(Found::failures(gen_docs::outdated()?)),
        hint: "run `cargo xtask gen` and commit what changed",
    },
];

const METADATA: [&str; 4] = ["metadata", "--no-deps", "--format-version", "1"];

/// Runs the checks, or only the quick ones.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [quick] = flags(args, ["--quick"])?;
    let skipped = checks(quick)?;
    if !skipped.is_empty() {
        println!("\nNOT CHECKED on this machine: {}", skipped.join(", "));
    }
    Ok(())
}

/// `cargo xtask site`: builds the documentation site, and fails where tidy would.
pub(crate) fn site(args: &[String]) -> Result<()> {
    let [] = flags(args, [])?;
    let found = external::site()?;
    let faults = [found.failures, found.skipped.into_iter().collect()].concat();
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    println!("{}", tree::target_dir().join("book").display());
    Ok(())
}

/// Runs the checks; the names of those that could not run on this machine.
pub(crate) fn checks(quick: bool) -> Result<Vec<&'static str>> {
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    for check in CHECKS.iter().filter(|check| check.quick || !quick) {
        let began = Instant::now();
        let found = (check.run)().unwrap_or_else(|e| Found::failures(vec![format!("{e:#}")]));
        print(check, &found, began.elapsed().as_secs());
        if found.skipped.is_some() {
            skipped.push(check.name);
        }
        if !found.failures.is_empty() {
            failed.push(check.name);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(skipped)
}

fn print(check: &Check, found: &Found, seconds: u64) {
    match (&found.skipped, found.failures.len()) {
        (Some(why), _) => println!("SKIP  {}: {why}", check.name),
        (None, 0) => println!("ok    {} ({seconds} s)", check.name),
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
