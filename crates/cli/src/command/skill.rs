//! `toolcrib skill list|add|validate`: skills as folders.

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_ops::OpError;
use toolcrib_ops::skills::{self, AddSkillRequest, SkillReply, ValidateSkillRequest};

use super::library_snapshot::{self, LibrarySnapshot};
use crate::clap_args::LibraryArgs;
use crate::output::{self, Failure};

pub(super) fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let reply = skills::list(&snapshot.context());
    library_snapshot::print_problems(&reply.problems, json);
    if json {
        output::print_json(&reply.skills.iter().map(to_json).collect::<Value>(), true)?;
        return Ok(0);
    }
    let mut rows = vec![["SKILL", "VERSION", "FROM", "DESCRIPTION"].map(str::to_owned).to_vec()];
    rows.extend(reply.skills.into_iter().map(|skill| {
        vec![skill.name, skill.version, skill.source.word().to_owned(), skill.description]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn to_json(skill: &SkillReply) -> Value {
    let mut row = json!({
        "name": skill.name,
        "display_name": skill.display_name,
        "description": skill.description,
        "version": skill.version,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "allowed_tools": skill.allowed_tools,
        "tools_required": skill.tools_required,
    });
    if let Value::Object(row) = &mut row {
        library_snapshot::insert_source(row, &skill.source);
    }
    row
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
        output::print_json(&to_json(&skill), true)?;
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
