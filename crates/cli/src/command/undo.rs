//! `toolcrib undo`: takes back what tools changed in the workspace.
//!
//! Exit codes: 0 = undone, or nothing to undo; 1 = a change stands in the way.

use serde_json::json;
use toolcrib_app::Preset;

use crate::cli::{Undo, World};
use crate::output::{self, Failure};
use crate::world;

pub(crate) fn run(command: &Undo, json: bool) -> Result<u8, Failure> {
    let world = World { root: command.root.clone(), policy: Preset::default(), allow_net: Vec::new() };
    let toolcrib = world::block_on(world::build(&world))?;
    let failed = |error: &dyn std::fmt::Display| Failure::run(error.to_string());
    if command.list {
        let changes = toolcrib.changes().map_err(|error| failed(&error))?;
        if json {
            output::document(&json!(changes), true)?;
            return Ok(0);
        }
        for change in &changes {
            let note = change.not_undoable.as_ref().map(|why| format!(" (cannot be undone: {why})"));
            output::data(&format!("{:>4}  {}{}", change.id, change.summary, note.unwrap_or_default()))?;
        }
        return Ok(0);
    }
    let report = toolcrib.undo(command.count, command.force).map_err(|error| failed(&error))?;
    if json {
        let undone: Vec<_> =
            report.undone.iter().map(|u| json!({"change": u.entry.summary, "did": u.did})).collect();
        let refused = report.refused.as_ref().map(|(entry, why)| json!({"change": entry.summary, "why": why}));
        output::document(&json!({"undone": undone, "refused": refused}), true)?;
    } else {
        for undone in &report.undone {
            output::data(&format!("undone: {}", undone.entry.summary))?;
        }
        if report.undone.is_empty() && report.refused.is_none() {
            output::note("toolcrib: there is nothing to undo");
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
