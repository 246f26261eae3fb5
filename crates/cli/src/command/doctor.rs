//! `toolcrib doctor`.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::Doctor as Words;
use crate::doctor::{self, Doctor, Finding, State};
use crate::output::{self, Failure};
use crate::{terminal, world};

pub(super) fn run(command: &Words, json: bool) -> Result<u8, Failure> {
    let workspace = command.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let doctor = Doctor { fix: command.fix, online: command.online };
    let found = world::block_on(doctor::examine(doctor, Path::new(&workspace)))?;
    let code = code(&found);
    if json {
        output::document(&json!({"ok": code == 0, "checks": found}), true)?;
        return Ok(code);
    }
    output::data(&text(&found))?;
    Ok(code)
}

/// 3 when the configuration cannot be used, 1 when something else does not work.
fn code(found: &[Finding]) -> u8 {
    let fails = || found.iter().filter(|one| one.state == State::Fail);
    match (fails().any(|one| one.of_configuration), fails().next()) {
        (true, _) => 3,
        (false, Some(_)) => 1,
        (false, None) => 0,
    }
}

fn text(found: &[Finding]) -> String {
    let mut text = String::new();
    for one in found {
        let message = terminal::one_line(&one.message);
        text += &format!("{:<6} {:<14} {message}\n", one.state.as_str(), one.name);
        if let Some(fix) = one.fix.as_ref().filter(|_| one.state != State::Ok) {
            text += &format!("{:<6} {:<14} → {}\n", "", "", terminal::one_line(fix));
        }
    }
    let count = |state: State| found.iter().filter(|one| one.state == state).count();
    text + &format!(
        "{} looked at, {} warnings, {} failures, {} repaired\n",
        found.len(),
        count(State::Warn),
        count(State::Fail),
        count(State::Fixed)
    )
}
