//! `toolcrib undo`: takes back what tools changed in the workspace.
//!
//! Exit codes: 0 = undone, or nothing to undo; 1 = a change stands in the way. Places in the list
//! are what `undo COUNT` counts.

use std::io::{self, IsTerminal as _};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::bootstrap;
use crate::clap_args::{Undo, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::terminal;

pub(crate) fn run(command: &Undo, json: bool) -> Result<u8, Failure> {
    let world = WorkspaceArgs { root: command.root.clone(), ..WorkspaceArgs::default() };
    let toolcrib = bootstrap::block_on(bootstrap::build_for_person(&world))?;
    // Names of files may hold a secret too.
    let secrets = toolcrib.engine().sealing().secrets.clone();
    let failed = |error: &dyn std::fmt::Display| Failure::run(error.to_string());
    if command.list {
        let changes = toolcrib.changes().map_err(|error| failed(&error))?;
        if json {
            output::print_json(&secrets.mask_json(&json!(changes)), true)?;
            return Ok(0);
        }
        for (place, change) in (1..).zip(&changes) {
            let note =
                change.not_undoable.as_ref().map(|why| format!(" (cannot be undone: {why})"));
            let age = age(change.at_ms);
            let note = note.unwrap_or_default();
            let line = format!("{place:>3}  {age:>7} ago  {}{note}", change.summary);
            output::print_line(&secrets.mask(line))?;
        }
        if changes.is_empty() {
            output::warn("there is nothing to undo", false);
        }
        return Ok(0);
    }
    if command.count > 1 && !command.yes {
        let changes = toolcrib.changes().map_err(|error| failed(&error))?;
        let meant = changes.len().min(usize::from(command.count));
        let lines: Vec<String> =
            changes.iter().take(meant).map(|change| secrets.mask(change.summary.clone())).collect();
        if !is_confirmed(&lines)? {
            let message = "nothing was undone".to_owned();
            return Err(Failure { code: 5, message });
        }
    }
    let report =
        toolcrib.undo(usize::from(command.count), command.force).map_err(|error| failed(&error))?;
    if json {
        let undone: Vec<_> = report
            .undone
            .iter()
            .map(|u| json!({"change": u.entry.summary, "did": u.did}))
            .collect();
        let refused = report
            .refused
            .as_ref()
            .map(|(entry, why)| json!({"change": entry.summary, "why": why}));
        let report = json!({"undone": undone, "refused": refused});
        output::print_json(&secrets.mask_json(&report), true)?;
    } else {
        for undone in &report.undone {
            let did = undone.did.join(", ");
            let did = if did.is_empty() { "it had never been made".to_owned() } else { did };
            let line = format!("undone: {} ({did})", undone.entry.summary);
            output::print_line(&secrets.mask(line))?;
        }
        if report.undone.is_empty() && report.refused.is_none() {
            output::warn("there is nothing to undo", false);
        }
    }
    match report.refused {
        Some((entry, why)) => Err(Failure::run(format!(
            "{} was not undone: {why} (--force undoes it all the same)",
            entry.summary
        ))),
        None => Ok(0),
    }
}

/// Shows several changes and asks whether to undo them all. One or none needs no question.
///
/// # Errors
/// Exit code 2 where no person can be asked.
fn is_confirmed(changes: &[String]) -> Result<bool, Failure> {
    let count = changes.len();
    if count < 2 {
        return Ok(true);
    }
    output::eprint_line(&format!("toolcrib: these {count} changes would be undone, newest first:"));
    for (place, summary) in (1..).zip(changes) {
        output::eprint_line(&format!("{place:>5}  {}", terminal::escape_to_line(summary)));
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::usage("nothing was undone: --yes undoes several changes unasked"));
    }
    output::eprint_prompt(&format!("Undo these {count} changes? [y/N] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// How long ago a moment in milliseconds since 1970 was, in the largest unit that fits.
fn age(at_ms: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = now.as_secs().saturating_sub(u64::try_from(at_ms).unwrap_or_default() / 1000);
    let units = [(86_400, "d"), (3600, "h"), (60, "min")];
    let unit = units.iter().find(|(length, _)| seconds >= *length).unwrap_or(&(1, "s"));
    format!("{} {}", seconds / unit.0, unit.1)
}
