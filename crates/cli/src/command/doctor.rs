//! `toolcrib doctor`.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::clap_args::DoctorArgs;
use crate::doctor::{self, DoctorOptions, Finding, FindingState};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

pub(super) fn run(command: &DoctorArgs, json: bool) -> Result<u8, Failure> {
    let workspace = command.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let doctor = DoctorOptions { fix: command.fix, online: command.online };
    let found = bootstrap::block_on(doctor::run_checks(doctor, Path::new(&workspace)))?;
    let code = exit_code(&found);
    if json {
        output::print_json(&json!({"ok": code == 0, "checks": found}), true)?;
        return Ok(code);
    }
    output::print_line(&findings_text(&found))?;
    Ok(code)
}

/// Returns 3 if the configuration cannot be used, 1 if something else does not work.
fn exit_code(found: &[Finding]) -> u8 {
    let fails = || found.iter().filter(|one| one.state == FindingState::Fail);
    match (fails().any(|one| one.of_configuration), fails().next()) {
        (true, _) => 3,
        (false, Some(_)) => 1,
        (false, None) => 0,
    }
}

fn findings_text(found: &[Finding]) -> String {
    let mut text = String::new();
    for one in found {
        let message = terminal::escape_to_line(&one.message);
        text += &format!("{:<6} {:<14} {message}\n", one.state.as_str(), one.name);
        if let Some(fix) = one.fix.as_ref().filter(|_| one.state != FindingState::Ok) {
            text += &format!("{:<6} {:<14} → {}\n", "", "", terminal::escape_to_line(fix));
        }
    }
    let count = |state: FindingState| found.iter().filter(|one| one.state == state).count();
    text + &format!(
        "{} checks, {} warnings, {} failures, {} repaired\n",
        found.len(),
        count(FindingState::Warn),
        count(FindingState::Fail),
        count(FindingState::Fixed)
    )
}
