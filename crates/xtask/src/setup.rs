//! What a fresh machine lacks: installed where that is allowed, named where it is not.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// A program that a build or a test needs, and the Debian package that has it.
struct Need {
    program: &'static str,
    package: &'static str,
    why: &'static str,
}

/// Needed to build and test.
const TO_TEST: &[Need] = &[
    Need { program: "cc", package: "gcc", why: "compiles the C parts of the TLS library" },
    Need { program: "git", package: "git", why: "the sources are kept with it" },
    Need {
        program: "initdb",
        package: "postgresql",
        why: "the store is tested on a Postgres server",
    },
];

/// Needed to fuzz.
const TO_FUZZ: &[Need] =
    &[Need { program: "g++", package: "g++", why: "compiles the fuzzing engine" }];

/// Components of the Rust toolchain that the house checks use.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// Makes sure that tests and house checks can run.
pub(crate) fn for_tests() -> Result<()> {
    programs(TO_TEST)?;
    for (subcommand, component) in COMPONENTS {
        if !process::works("cargo", &[subcommand, "--version"]) {
            process::run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}

/// Makes sure that the fuzz targets can be built.
pub(crate) fn for_fuzzing() -> Result<()> {
    programs(TO_FUZZ)
}

fn programs(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !is_there(need.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if !is_root() || !process::works("apt-get", &["--version"]) {
        bail!("missing on this machine:\n{}", list(&missing));
    }
    println!("installing {}:\n{}", packages.join(" "), list(&missing));
    process::run(Command::new("apt-get").args(["update", "-qq"]))?;
    process::run(
        Command::new("apt-get")
            .args(["install", "-y", "-qq", "--no-install-recommends"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

/// Whether a program can be run; Debian and Ubuntu keep those of Postgres beside the path, one folder for each version.
fn is_there(program: &str) -> bool {
    let beside_the_path = || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        versions.map(|version| version.path().join("bin").join(program)).any(|file| file.exists())
    };
    process::works(program, &["--version"]) || beside_the_path()
}

fn list(missing: &[&Need]) -> String {
    let lines = missing.iter().map(|need| {
        format!(
            "  {} ({}); Debian and Ubuntu: apt-get install {}",
            need.program, need.why, need.package
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let need = Need { program: "cc", package: "gcc", why: "compiles C" };
        assert!(list(&[&need]).contains("cc (compiles C); Debian and Ubuntu: apt-get install gcc"));
    }

    #[test]
    fn a_present_program_is_no_need() {
        assert!(programs(&[Need { program: "rustc", package: "rustc", why: "is there" }]).is_ok());
    }
}
