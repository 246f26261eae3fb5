//! `toolcrib skill list|show|add|enable|disable|validate`: skills as folders.

use std::path::Path;

use serde_json::json;
use toolcrib_app::SwitchTarget;
use toolcrib_core::SwitchState;
use toolcrib_ops::OpError;
use toolcrib_ops::skills::{self, AddSkillRequest, ShowSkillRequest, ValidateSkillRequest};

use super::library_snapshot::{self, LibrarySnapshot};
use super::switches;
use crate::clap_args::{LibraryArgs, WorkspaceArgs};
use crate::output::{self, Failure};

pub(super) fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let reply = skills::list(&snapshot.context());
    library_snapshot::print_problems(&reply.problems, json);
    if json {
        output::print_json(&json!(reply.skills), true)?;
        return Ok(0);
    }
    let mut rows =
        vec![["SKILL", "STATE", "VERSION", "FROM", "DESCRIPTION"].map(str::to_owned).to_vec()];
    rows.extend(reply.skills.into_iter().map(|skill| {
        let state = if skill.enabled { "on" } else { "off" }.to_owned();
        vec![skill.name, state, skill.version, skill.source.from, skill.description]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

pub(super) fn show(name: &str, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let request = ShowSkillRequest { name: name.to_owned() };
    let details = skills::show(&snapshot.context(), &request)?;
    if json {
        output::print_json(&json!(details), true)?;
        return Ok(0);
    }
    let skill = &details.skill;
    let state = if skill.enabled { "on" } else { "off" };
    output::print_line(&format!("{} ({state}, {})", skill.name, skill.place))?;
    output::print_line(&skill.description)?;
    if !skill.agents.is_empty() {
        output::print_line(&format!("agents that begin with it: {}", skill.agents.join(", ")))?;
    }
    output::print_line(&format!("\n{}", details.instructions))?;
    Ok(0)
}

/// Looks up a skill, and enables or disables it.
pub(super) fn switch(
    name: &str,
    state: SwitchState,
    places: &LibraryArgs,
    json: bool,
) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    skills::show(&snapshot.context(), &ShowSkillRequest { name: name.to_owned() })?;
    let world = WorkspaceArgs {
        workspace: places.workspace.clone(),
        tools: places.tools.clone(),
        ..WorkspaceArgs::default()
    };
    switches::set_target(&world, SwitchTarget::Skill(name.to_owned()), Some(state), json)
}

pub(super) fn add(
    folder: &Path,
    project: bool,
    places: &LibraryArgs,
    json: bool,
) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let to = snapshot.folder_for_new("skills", project)?;
    let request = AddSkillRequest { from: folder.to_owned(), to };
    let skill = skills::add(&snapshot.context(), &request).map_err(|error| match error {
        OpError::Conflict(taken) => Failure::usage(taken),
        error => error.into(),
    })?;
    if json {
        output::print_json(&json!(skill), true)?;
    } else {
        output::print_line(&skill.place)?;
        let name = &skill.name;
        output::eprint_line(&format!("toolcrib: start a message with /{name} to use it"));
    }
    Ok(0)
}

pub(super) fn validate(path: &Path, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let request = ValidateSkillRequest::Path(path.to_owned());
    let report = skills::validate(&snapshot.context(), request)?;
    if json {
        output::print_json(&json!(report), true)?;
    } else if report.valid {
        output::print_line(&format!("{} is a good skill", path.display()))?;
    }
    if report.valid {
        return Ok(0);
    }
    let words: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    Err(Failure::configuration(words.join("\n")))
}
