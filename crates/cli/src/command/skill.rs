//! `toolcrib skill list|add|validate`: skills as folders.

use std::path::Path;

use serde_json::{Map, Value, json};
use toolcrib_app::agent::library::{self, Skill};

use super::shelf::{self, Shelf};
use crate::cli::Places;
use crate::output::{self, Failure};

pub(super) fn list(places: &Places, json: bool) -> Result<u8, Failure> {
    let shelf = Shelf::open(places, json)?;
    shelf::complain(&shelf.problems("skills", &shelf.folders.skills), json);
    let skills = &shelf.library.skills;
    if json {
        output::document(&skills.iter().map(data).collect::<Value>(), true)?;
        return Ok(0);
    }
    let mut rows =
        vec![["SKILL", "VERSION", "FROM", "WHAT IT DOES AND WHEN"].map(str::to_owned).to_vec()];
    rows.extend(skills.iter().map(|skill| {
        let from = shelf::origin(&skill.place).to_owned();
        vec![skill.name.clone(), skill.version.clone(), from, skill.description.clone()]
    }));
    output::data(&shelf::table(&rows))?;
    Ok(0)
}

fn data(skill: &Skill) -> Value {
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
    let all = members.into_iter().chain(shelf::place(&skill.place));
    Value::Object(all.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

pub(super) fn add(
    folder: &Path,
    project: bool,
    places: &Places,
    json: bool,
) -> Result<u8, Failure> {
    exists(folder)?;
    let shelf = Shelf::open(places, json)?;
    let real = folder.canonicalize()?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    // Two skills of one name are both lost.
    if let Ok(other) = shelf.library.skill(&name) {
        return Err(Failure::usage(format!("there is a skill {name} already ({})", other.place)));
    }
    let skill = library::add(folder, &shelf.home("skills", project)?)
        .map_err(|problem| Failure::configuration(problem.to_string()))?;
    if json {
        output::document(&data(&skill), true)?;
    } else {
        output::data(&skill.place.to_string())?;
        output::note(&format!("toolcrib: /{name} at the start of a message uses it"));
    }
    Ok(0)
}

pub(super) fn validate(path: &Path, places: &Places, json: bool) -> Result<u8, Failure> {
    exists(path)?;
    let shelf = Shelf::open(places, json)?;
    let problems = library::validate(path, Some(&shelf.names));
    if json {
        let rows = problems.iter().map(|p| json!({"path": p.path, "message": p.message}));
        let whole = json!({"valid": problems.is_empty(), "problems": rows.collect::<Value>()});
        output::document(&whole, true)?;
    } else if problems.is_empty() {
        output::data(&format!("{} is a good skill", path.display()))?;
    }
    if problems.is_empty() {
        return Ok(0);
    }
    let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(Failure::configuration(words.join("\n")))
}

fn exists(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    Err(Failure::not_found(format!("there is no {}", path.display())))
}
