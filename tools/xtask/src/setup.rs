//! Installs the missing programs of a new machine where that is allowed, and lists the others.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, tree};

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
    Need {
        program: "busybox",
        package: "busybox-static",
        why: "the Linux userland is tested with a small system of it",
    },
    Need { program: "gpg", package: "gnupg", why: "the witness for signatures" },
    Need { program: "bwrap", package: "bubblewrap", why: "the other maker of sandboxes" },
];

/// Needed to use the daemon from outside, as its users do.
const TO_ASK: &[Need] = &[
    Need { program: "curl", package: "curl", why: "the lines of the README are run as they stand" },
    Need { program: "python3", package: "python3-venv", why: "runs a client and a fuzzer" },
    Need { program: "node", package: "nodejs", why: "runs a client" },
    Need { program: "npm", package: "npm", why: "installs what checks that client" },
];

/// Needed to test the page.
const TO_BROWSE: &[Need] =
    &[Need { program: "chromium", package: "chromium", why: "the page is tested in it" }];

/// Names that the browser has on systems.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Packages of Python that tests use, with the versions that they were written for.
const PYTHON: &[&str] = &[
    "schemathesis==4.32.5",
    "datamodel-code-generator==0.89.0",
    "mypy==2.4.1",
    // A language server and a linter that the tool for code is tested with.
    "python-lsp-server==1.15.0",
    "pyflakes==4.1.0",
    "ruff==0.17.6",
    // A calendar server that the tool for events is tested with.
    "radicale==3.9.0",
    // What plots come back from.
    "matplotlib==3.11.2 ; python_version >= '3.11'",
];

/// Needed to fuzz.
const TO_FUZZ: &[Need] =
    &[Need { program: "g++", package: "g++", why: "compiles the fuzzing engine" }];

/// Components of the Rust toolchain that the house checks use.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// A language server that the tool for code is tested with.
const RUST_ANALYZER: &str = "rust-analyzer";

/// Makes sure that tests and house checks can run.
pub(crate) fn for_tests() -> Result<()> {
    programs(TO_TEST)?;
    for (subcommand, component) in COMPONENTS {
        if !process::works("cargo", &[subcommand, "--version"]) {
            process::run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    language_servers();
    mail_server();
    Ok(())
}

/// Gets Dovecot, from which mail is read in tests. Without it the tests say what they did not try.
fn mail_server() {
    let parts = ["imap-login", "submission-login"];
    if parts.iter().all(|part| Path::new("/usr/lib/dovecot").join(part).exists()) {
        return;
    }
    println!("installing dovecot ...");
    let install = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        let status = command.args(args).env("DEBIAN_FRONTEND", "noninteractive").status();
        status.is_ok_and(|status| status.success())
    };
    let packages = ["dovecot-imapd", "dovecot-submissiond"];
    let wanted = [&["install", "-y", "-qq", "--no-install-recommends"][..], &packages[..]].concat();
    if !is_root() || !install(&["update", "-qq"]) || !install(&wanted) {
        println!("Dovecot could not be installed; its tests are left out");
    }
}

/// Gets the language servers of tests. Without them the tests say what they did not try.
fn language_servers() {
    if !process::works(RUST_ANALYZER, &["--version"]) {
        let added = Command::new("rustup").args(["component", "add", RUST_ANALYZER]).status();
        if !added.is_ok_and(|status| status.success()) {
            println!("{RUST_ANALYZER} could not be installed; its tests are left out");
        }
    }
    if let Err(error) = python("pylsp") {
        println!("language servers for Python could not be installed: {error}");
    }
}

/// A program of the Python packages that tests use; they are installed beside what is built, once.
pub(crate) fn python(program: &str) -> Result<PathBuf> {
    programs(TO_ASK)?;
    let folder = tree::target_dir().join("python");
    let wanted = PYTHON.join("\n");
    let installed = folder.join("installed.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(folder.join("bin").join(program));
    }
    println!("installing {} ...", PYTHON.join(", "));
    let venv = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder).status();
    if !venv.is_ok_and(|status| status.success()) {
        bail!(
            "python3 cannot make a virtual environment; Debian and Ubuntu: apt-get install python3-venv"
        );
    }
    process::run(Command::new(folder.join("bin/pip")).args(["install", "--quiet"]).args(PYTHON))?;
    std::fs::write(&installed, wanted).context("noting what was installed")?;
    Ok(folder.join("bin").join(program))
}

/// Makes sure that the tour can be taken.
pub(crate) fn for_tour() -> Result<()> {
    programs(&TO_ASK[..1])
}

/// Makes sure that clients can be run.
pub(crate) fn for_clients() -> Result<()> {
    programs(TO_ASK)
}

/// The browser that the page is tested in; Playwright needs its path.
pub(crate) fn chromium() -> Result<PathBuf> {
    if !BROWSERS.iter().any(|name| is_there(name)) {
        programs(TO_BROWSE)?;
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = BROWSERS.iter().find_map(|name| {
        std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
    });
    found.context("no Chromium in the PATH")
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

/// Whether a program can be run; Debian and Ubuntu keep those of Postgres beside the path, one
/// folder for each version.
fn is_there(program: &str) -> bool {
    let beside_the_path = || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        versions.map(|version| version.path().join("bin").join(program)).any(|file| file.exists())
    };
    let answers = |flag: &str| process::works(program, &[flag]);
    answers("--version") || answers("--help") || beside_the_path()
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
