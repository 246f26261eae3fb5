//! `toolcrib kit list|show`: known good ways to use several tools for one goal.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use toolcrib_app::agent::library::Kit;

use super::library_snapshot::{self, LibrarySnapshot};
use crate::clap_args::LibraryArgs;
use crate::output::{self, Failure};

pub(super) fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let shelf = LibrarySnapshot::load(places, json)?;
    library_snapshot::print_problems(&shelf.problems("kits", &shelf.folders.kits), json);
    let kits = &shelf.library.kits;
    if json {
        output::print_json(&kits.iter().map(to_json).collect::<Value>(), true)?;
        return Ok(0);
    }
    let mut rows = vec![["KIT", "FROM", "TOOLS", "WHAT IT IS FOR"].map(str::to_owned).to_vec()];
    rows.extend(kits.iter().map(|kit| {
        let from = library_snapshot::origin_word(&kit.location).to_owned();
        vec![kit.name.clone(), from, tools(kit).join(", "), kit.description.clone()]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

/// Its tools, each once.
fn tools(kit: &Kit) -> Vec<&str> {
    let mut tools: Vec<&str> = Vec::new();
    for tool in kit.tools() {
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    tools
}

pub(super) fn show(name: &str, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let shelf = LibrarySnapshot::load(places, json)?;
    let Some(kit) = shelf.library.kits.iter().find(|kit| kit.name == name) else {
        let mut problems = shelf.problems("kits", &shelf.folders.kits);
        problems.retain(|problem| problem.path.file_stem().is_some_and(|stem| stem == name));
        return Err(match problems.first() {
            Some(problem) => Failure::configuration(problem.to_string()),
            None => Failure::not_found(format!(
                "there is no kit \"{name}\"; `toolcrib kit list` shows what there is"
            )),
        });
    };
    if json {
        output::print_json(&to_json(kit), true)?;
        return Ok(0);
    }
    let mut text = format!("{}\n\n{}\n\nfrom {}\n", kit.name, kit.description, kit.location);
    for (number, step) in (1..).zip(&kit.steps) {
        let _ = writeln!(text, "\n{number}. {} {}", step.tool, step.params);
        if !step.note.is_empty() {
            let _ = writeln!(text, "   {}", step.note.replace('\n', "\n   "));
        }
    }
    output::print_line(&text)?;
    Ok(0)
}

fn to_json(kit: &Kit) -> Value {
    let steps = kit
        .steps
        .iter()
        .map(|step| json!({"tool": step.tool, "params": step.params, "note": step.note}));
    let members = [
        ("name", json!(kit.name)),
        ("description", json!(kit.description)),
        ("tools", json!(tools(kit))),
        ("steps", steps.collect::<Value>()),
    ];
    let all = members.into_iter().chain(library_snapshot::origin_fields(&kit.location));
    Value::Object(all.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}
