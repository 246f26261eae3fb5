//! `cargo xtask miri`: the memory rules of `unsafe` code, checked by an interpreter.
//!
//! Miri needs a nightly toolchain with the components `miri` and `rust-src`, and emulates few
//! system calls. So only tests that make none run in it: those of the one crate with `unsafe` that
//! read what the kernel and the owner write, and those of the parsers of hostile input, whose
//! libraries have `unsafe` of their own.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::flags::flags;
use crate::{process, tree};

/// The toolchain.
const TOOLCHAIN: &str = "nightly";

/// Its components.
const COMPONENTS: [&str; 2] = ["miri", "rust-src"];

/// Each crate with the tests that run; they take seconds in the interpreter.
const TESTS: [(&str, &[&str]); 3] = [
    (
        "toolcrib-sandbox",
        &[
            "code_pages::tests::only_unmodified_mappings_are_released",
            "host_rules::",
            "process::tool_mark::tests::the_hard_limit_is_read",
        ],
    ),
    ("toolcrib-shell-parser", &["ansi_c_quoting::", "brace_expansion::"]),
    ("toolcrib-sanitizer", &["truncate_text::", "decode_utf8::"]),
];

/// Runs the tests; a machine without the toolchain is told so, and fails only with `--required`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [required] = flags(args, ["--required"])?;
    if let Some(missing) = missing()? {
        let advice = format!(
            "NOT CHECKED: {missing} is not installed; `rustup toolchain install {TOOLCHAIN} \
             --component {}` installs it",
            COMPONENTS.join(",")
        );
        if required {
            bail!("{advice}");
        }
        println!("{advice}");
        return Ok(());
    }
    for (package, tests) in TESTS {
        println!("\n== {package}");
        process::run(
            Command::new("rustup")
                .args(["run", TOOLCHAIN, "cargo", "miri", "test", "--package", package, "--lib"])
                .arg("--")
                .args(tests)
                .current_dir(tree::root())
                // The toolchain of `cargo xtask` must not decide about this one.
                .env_remove("CARGO")
                .env_remove("RUSTUP_TOOLCHAIN")
                .env("CARGO_TARGET_DIR", tree::target_dir().join("miri"))
                // Tests read files of the project; mappings come from numbers that `/proc` names.
                .env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance"),
        )?;
    }
    Ok(())
}

/// What is not installed of the toolchain.
fn missing() -> Result<Option<String>> {
    if !process::works("rustup", &["--version"]) {
        return Ok(Some("rustup".to_owned()));
    }
    let toolchains = process::output(Command::new("rustup").args(["toolchain", "list"]))
        .context("asking rustup for its toolchains")?;
    if !toolchains.lines().any(|line| line.starts_with(TOOLCHAIN)) {
        return Ok(Some(format!("the toolchain {TOOLCHAIN}")));
    }
    let mut list = Command::new("rustup");
    list.args(["component", "list", "--installed", "--toolchain", TOOLCHAIN]);
    let installed = process::output(&mut list).context("asking rustup for its components")?;
    Ok(missing_component(&installed).map(|name| format!("the component {name} of {TOOLCHAIN}")))
}

/// The first component that this list of rustup does not have.
fn missing_component(installed: &str) -> Option<&'static str> {
    let has = |name: &str| installed.lines().any(|line| line.trim().starts_with(name));
    COMPONENTS.into_iter().find(|name| !has(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_components_are_named() {
        let all = "cargo-x86_64-unknown-linux-gnu\nmiri-x86_64-unknown-linux-gnu\nrust-src\n";
        assert_eq!(missing_component(all), None);
        assert_eq!(missing_component("rust-src\n"), Some("miri"));
        assert_eq!(missing_component("miri-aarch64-apple-darwin\n"), Some("rust-src"));
    }
}
