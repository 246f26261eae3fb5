//! `toolcrib skill list|add|validate`: skills as folders.

use std::path::Path;

use serde_json::{Map, Value, json};
use toolcrib_app::agent::library::{self, Skill};

use super::library_snapshot::{self, LibrarySnapshot};
use crate::clap_args::LibraryArgs;
use crate::output::{self, Failure};

pub(super) fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let shelf = LibrarySnapshot::load(places, json)?;
    library_snapshot::print_problems(&shelf.problems("skills", &shelf.folders.skills), json);
    let skills = &shelf.library.skills;
    if json {
        output::print_json(&skills.iter().map(to_json).collect::<Value>(), true)?;
        return Ok(0);
    }
    let mut rows =
        vec![["SKILL", "VERSION", "FROM", "WHAT IT DOES AND WHEN"].map(str::to_owned).to_vec()];
    rows.extend(skills.iter().map(|skill| {
        let from = library_snapshot::origin_word(&skill.location).to_owned();
        vec![skill.name.clone(), skill.version.clone(), from, skill.description.clone()]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn to_json(skill: &Skill) -> Value {
    let members = [
        ("name", json!(skill.name)),
        ("display_name", json!(skill.display_name)),
        ("description", json!(skill.description)),
        ("version", json!(skill.version)),
        ("license", json!(skill.license)),
        ("compatibility", json!(skill.compatibility)),
        ("allowed_tools", json!(skill.allowed_tools)),
        ("tools_required", json!(skill.tools_required)),
    ];
    let all = members.into_iter().chain(library_snapshot::origin_fields(&skill.location));
    Value::Object(all.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

pub(super) fn add(
    folder: &Path,
    project: bool,
    places: &LibraryArgs,
    json: bool,
) -> Result<u8, Failure> {
    check_exists(folder)?;
    let shelf = LibrarySnapshot::load(places, json)?;
    let real = folder.canonicalize()?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    // Two skills of one name are both lost.
    if let Ok(other) = shelf.library.skill(&name) {
        return Err(Failure::usage(format!(
            "there is a skill {name} already ({})",
            other.location
        )));
    }
    let skill = library::add_skill(folder, &shelf.folder_for_new("skills", project)?)
        .map_err(|problem| Failure::configuration(problem.to_string()))?;
    if json {
        output::print_json(&to_json(&skill), true)?;
    } else {
        output::print_line(&skill.location.to_string())?;
        output::eprint_line(&format!("toolcrib: /{name} at the start of a message uses it"));
    }
    Ok(0)
}

pub(super) fn validate(path: &Path, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    check_exists(path)?;
    let shelf = LibrarySnapshot::load(places, json)?;
    let problems = library::validate_skill(path, Some(&shelf.tool_names));
    if json {
        let rows = problems.iter().map(|p| json!({"path": p.path, "message": p.message}));
        let whole = json!({"valid": problems.is_empty(), "problems": rows.collect::<Value>()});
        output::print_json(&whole, true)?;
    } else if problems.is_empty() {
        output::print_line(&format!("{} is a good skill", path.display()))?;
    }
    if problems.is_empty() {
        return Ok(0);
    }
    let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(Failure::configuration(words.join("\n")))
}

fn check_exists(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    Err(Failure::not_found(format!("there is no {}", path.display())))
}
