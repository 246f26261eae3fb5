//! Runs the system's programs for managing services.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

use crate::output::Failure;

/// Runs a program to its end, with visible output; returns its exit code.
pub(super) fn run_visible(name: &str, args: &[&str]) -> Result<u8, Failure> {
    let status = Command::new(name).args(args).stdin(Stdio::null()).status();
    let status = status.map_err(|error| missing(name, &error))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Runs a program to its end, and requires that it succeeds.
pub(super) fn run_checked(name: &str, args: &[&str]) -> Result<(), Failure> {
    let output = Command::new(name).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|error| missing(name, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    Err(Failure::run(format!("`{name} {}` failed: {said}", args.join(" "))))
}

fn missing(name: &str, error: &std::io::Error) -> Failure {
    if error.kind() == ErrorKind::NotFound {
        return Failure::run(format!(
            "{name} is not here, so this system starts no services this way; `toolcrib serve` runs in the foreground, and `toolcrib daemon service install --print` shows what to adapt"
        ));
    }
    Failure::run(format!("{name} cannot be run: {error}"))
}
