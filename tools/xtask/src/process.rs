//! Running other programs: cargo in the right folder and target directory, and what they print.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::tree;

/// Settings of the caller's shell that the programs started here must not inherit.
pub(crate) const VARIABLES: [&str; 6] = [
    "TOOLCRIB_POLICY",
    "TOOLCRIB_ALLOW_NET",
    "TOOLCRIB_CONFIG",
    "TOOLCRIB_PROVIDER",
    "TOOLCRIB_MODEL",
    "TOOLCRIB_BASE_URL",
];

/// What is off by default, and built, tested and linted all the same.
pub(crate) const FEATURES: [&str; 2] = ["--features", "toolcrib/postgres"];

/// `cargo` at the root of the workspace, building into [`tree::target_dir`].
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(tree::root()).env("CARGO_TARGET_DIR", tree::target_dir());
    // What `cargo run` sets for this very process would make every child look changed to its build
    // scripts.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME"] {
        command.env_remove(name);
    }
    command
}

/// Runs to the end with the terminal inherited; an unsuccessful exit is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Whether a program can be started and answers `args` with success.
pub(crate) fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .current_dir(tree::root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What a program printed on stdout; an unsuccessful exit is an error that carries its stderr.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let out = command.output().with_context(|| format!("starting {}", shown(command)))?;
    if !out.status.success() {
        let stderr = String::from_utf8_lossy(&out.stderr);
        bail!("{} ended with {}\n{}", shown(command), out.status, stderr.trim_end());
    }
    String::from_utf8(out.stdout).with_context(|| format!("{} printed no text", shown(command)))
}

/// Runs to the end, passing all lines on, and returns those that `keep` asks for, of both streams.
pub(crate) fn run_keeping(
    command: &mut Command,
    keep: fn(&str) -> bool,
) -> Result<(bool, Vec<String>)> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {}", shown(command)))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (out, err) = thread::scope(|scope| {
        let out = scope.spawn(move || stdout.map(|s| tee(s, false, keep)).unwrap_or_default());
        let err = scope.spawn(move || stderr.map(|s| tee(s, true, keep)).unwrap_or_default());
        (out.join().unwrap_or_default(), err.join().unwrap_or_default())
    });
    let status = child.wait()?;
    Ok((status.success(), [out, err].concat()))
}

fn tee(from: impl Read, to_stderr: bool, keep: fn(&str) -> bool) -> Vec<String> {
    let mut reader = BufReader::new(from);
    let (mut kept, mut line) = (Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        // A closed terminal must not stop the tests, so errors of writing are of no interest.
        let _ = if to_stderr {
            std::io::stderr().write_all(&line)
        } else {
            std::io::stdout().write_all(&line)
        };
        let text = String::from_utf8_lossy(&line);
        if keep(&text) {
            kept.push(text.trim().to_owned());
        }
        line.clear();
    }
    kept
}

/// Builds the binary (dev profile) and says where it is.
pub(crate) fn build_binary() -> Result<PathBuf> {
    built(&["--package", "toolcrib"])?.pop().context("cargo built no executable")
}

/// Builds programs (dev profile) and says where they are.
pub(crate) fn built(which: &[&str]) -> Result<Vec<PathBuf>> {
    let mut build = cargo(&["build", "--message-format", "json-render-diagnostics"]);
    let messages = output(build.args(which).stderr(Stdio::inherit()))?;
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = |message: Value| Some(PathBuf::from(message.get("executable")?.as_str()?));
    Ok(messages.filter_map(program).collect())
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    std::iter::once(name).chain(args).collect::<Vec<_>>().join(" ")
}
