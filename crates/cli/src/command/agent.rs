//! `toolcrib agent list|show|new`: agents as files.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};
use toolcrib_app::agent::library::{
    Agent, AgentPreset, DEFAULT_ROLE, Expansion, Folder, Rounds, Scope, agent_template,
    expand_tool_list,
};
use toolcrib_app::core::Exclusion;
use toolcrib_ops::tools;

use super::library_snapshot::{self, LibrarySnapshot};
use crate::clap_args::{AgentNew, LibraryArgs};
use crate::output::{self, Failure};
use crate::terminal;

/// What the list of tools comes to when there is none.
const ALL_TOOLS: &str = "all";

pub(super) fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let shelf = LibrarySnapshot::load(places, json)?;
    library_snapshot::print_problems(&shelf.problems("agents", &shelf.folders.agents), json);
    let agents = &shelf.library.agents;
    if json {
        output::print_json(&agents.iter().map(to_json).collect::<Value>(), true)?;
        return Ok(0);
    }
    let mut rows =
        vec![["AGENT", "FROM", "TOOLS", "MODEL", "WHAT IT IS FOR"].map(str::to_owned).to_vec()];
    rows.extend(agents.iter().map(|agent| {
        let tools = agent.tools.as_ref().map_or_else(
            || ALL_TOOLS.to_owned(),
            |list| expand_tool_list(Some(list), &shelf.tool_names).tools.len().to_string(),
        );
        let model = agent.model.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        let from = library_snapshot::origin_word(&agent.location).to_owned();
        vec![agent.name.clone(), from, tools, model, agent.description.clone()]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

pub(super) fn show(name: &str, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let shelf = LibrarySnapshot::load(places, json)?;
    let agent = find_agent(&shelf, name)?;
    let expansion = expand_tool_list(agent.tools.as_deref(), &shelf.tool_names);
    // A broken file of the same name in another scope is easily taken for the one that is shown.
    library_snapshot::print_problems(&problems_of(&shelf, name), json);
    if json {
        let mut whole = to_json(agent);
        if let Value::Object(map) = &mut whole {
            map.insert("prompt".to_owned(), json!(agent.prompt));
            map.insert("expansion".to_owned(), expansion_json(&expansion));
            let excluded = tools::exclusions(&shelf.toolcrib, &tools::view_of_agent(agent));
            let excluded = excluded.iter().map(|(tool, reason)| {
                json!({"tool": tool, "excluded": reason, "reason": reason.to_string()})
            });
            map.insert("excluded".to_owned(), excluded.collect());
        }
        output::print_json(&whole, true)?;
    } else {
        output::print_line(&to_text(agent, &expansion, &excluded_tools_text(&shelf, agent)))?;
    }
    Ok(0)
}

/// Tools that its list has and that it is not offered all the same, with the reason.
fn excluded_tools_text(shelf: &LibrarySnapshot, agent: &Agent) -> String {
    let reasons = tools::exclusions(&shelf.toolcrib, &tools::view_of_agent(agent));
    let rows: Vec<Vec<String>> = reasons
        .iter()
        .filter(|(_, reason)| !matches!(reason, Exclusion::Agent | Exclusion::Provider))
        .map(|(tool, reason)| {
            vec![format!("  {tool}"), terminal::escape_to_line(&reason.to_string())]
        })
        .collect();
    if rows.is_empty() {
        String::new()
    } else {
        format!("not offered\n{}", library_snapshot::table(&rows))
    }
}

/// The agent; a broken file of this name is a configuration to mend.
pub(super) fn find_agent<'s>(shelf: &'s LibrarySnapshot, name: &str) -> Result<&'s Agent, Failure> {
    shelf.library.agent(name).map_err(|error| match problems_of(shelf, name).as_slice() {
        [] => Failure::not_found(format!("{error}; `toolcrib agent list` shows them")),
        problems => Failure::configuration(
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        ),
    })
}

fn problems_of<'s>(
    shelf: &'s LibrarySnapshot,
    name: &str,
) -> Vec<&'s toolcrib_app::agent::library::Problem> {
    let mut problems = shelf.problems("agents", &shelf.folders.agents);
    problems.retain(|problem| problem.path.file_stem().is_some_and(|stem| stem == name));
    problems
}

/// An agent for machines, without its prompt.
fn to_json(agent: &Agent) -> Value {
    let limits = &agent.limits;
    let rounds = limits.rounds.map(|rounds| match rounds {
        Rounds::AtMost(rounds) => json!(rounds),
        Rounds::Unlimited => json!("unlimited"),
    });
    let members = [
        ("name", json!(agent.name)),
        ("title", json!(agent.title)),
        ("description", json!(agent.description)),
        ("model", json!(agent.model.as_ref().map(ToString::to_string))),
        ("tools", json!(agent.tools)),
        ("skills", json!(agent.skills)),
        ("role", json!(agent.role)),
        ("mode", json!(agent.preset.map(AgentPreset::as_str))),
        ("temperature", json!(agent.temperature)),
        ("max_output", json!(agent.max_output)),
        (
            "limits",
            json!({
                "rounds": rounds,
                "calls": limits.calls,
                "tokens": limits.tokens,
                "time": limits.time.map(|time| time.as_secs()),
                "cost": limits.cost,
            }),
        ),
    ];
    let all = members.into_iter().chain(library_snapshot::origin_fields(&agent.location));
    Value::Object(all.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

fn expansion_json(expansion: &Expansion) -> Value {
    let entries = expansion.entries.iter().map(|e| json!({"entry": e.entry, "tools": e.tools}));
    let unknown = expansion.unknown.iter().map(|u| json!({"entry": u.entry, "near": u.near}));
    json!({
        "tools": expansion.tools,
        "entries": entries.collect::<Value>(),
        "unknown": unknown.collect::<Value>(),
    })
}

fn to_text(agent: &Agent, expansion: &Expansion, kept_away: &str) -> String {
    let mut text = format!("{} - {}\n", agent.name, agent.title);
    if !agent.description.is_empty() {
        text += &format!("\n{}\n", agent.description);
    }
    let limits = &agent.limits;
    let facts = [
        ("from", agent.location.to_string()),
        ("model", agent.model.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("role", agent.role.clone()),
        ("mode", agent.preset.map(AgentPreset::as_str).unwrap_or_default().to_owned()),
        ("skills", agent.skills.join(", ")),
        (
            "rounds",
            limits.rounds.map_or_else(String::new, |rounds| match rounds {
                Rounds::AtMost(rounds) => rounds.to_string(),
                Rounds::Unlimited => "unlimited".to_owned(),
            }),
        ),
        ("calls", limits.calls.map(|n| n.to_string()).unwrap_or_default()),
        ("tokens", limits.tokens.map(|n| n.to_string()).unwrap_or_default()),
        ("time", limits.time.map(|time| format!("{} s", time.as_secs())).unwrap_or_default()),
        ("cost", limits.cost.map(|usd| format!("${usd}")).unwrap_or_default()),
    ];
    text.push('\n');
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "{name:<8} {value}");
    }
    let count = expansion.tools.len();
    match &agent.tools {
        None => text += &format!("tools    all, which are {count}\n"),
        Some(_) => text += &format!("tools    {count}\n"),
    }
    for entry in &expansion.entries {
        if entry.tools.first() == Some(&entry.entry) && entry.tools.len() == 1 {
            let _ = writeln!(text, "  {}", entry.entry);
        } else {
            let _ = writeln!(text, "  {:<18} {}", entry.entry, entry.tools.join(", "));
        }
    }
    if agent.tools.is_none() {
        let _ = writeln!(text, "  {}", expansion.tools.join(", "));
    }
    text += kept_away;
    let _ = write!(text, "\nprompt\n{}", indented(&agent.prompt));
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", format!("  {line}").trim_end())).collect()
}

pub(super) fn new(command: &AgentNew, json: bool) -> Result<u8, Failure> {
    let shelf = LibrarySnapshot::load(&command.library_args, json)?;
    let name = &command.name;
    let begin = agent_template(name).map_err(Failure::usage)?;
    let text = match &command.from {
        None => begin,
        Some(from) => to_markdown(find_agent(&shelf, from)?),
    };
    let folder = shelf.folder_for_new("agents", command.project)?;
    for ending in ["md", "toml"] {
        let path = folder.join(format!("{name}.{ending}"));
        if path.symlink_metadata().is_ok() {
            return Err(Failure::usage(format!(
                "there is an agent {name} already: {}",
                path.display()
            )));
        }
    }
    let path = folder.join(format!("{name}.md"));
    let scope = if command.project { Scope::Project } else { Scope::User };
    write_checked(&shelf, Folder { scope, path: folder }, &path, &text, |_| true)?;
    if json {
        output::print_json(&json!({"agent": name, "path": path}), true)?;
    } else {
        output::print_line(&path.display().to_string())?;
        output::eprint_line(&format!(
            "toolcrib: change the file to what you need, then: toolcrib run --agent {name} \"…\"\n\
             toolcrib: its tools: toolcrib agent tools {name}"
        ));
    }
    Ok(0)
}

/// An agent as the text of a Markdown file. Every value is JSON, which is YAML too, so that nothing
/// in it can be read as something else.
fn to_markdown(agent: &Agent) -> String {
    let mut text = "---\n".to_owned();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            let _ = writeln!(text, "{key}: {value}");
        }
    };
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    put("description", json!(some(&agent.description)));
    put("model", json!(agent.model.as_ref().map(ToString::to_string)));
    put("tools", json!(agent.tools));
    put("skills", json!(Some(&agent.skills).filter(|skills| !skills.is_empty())));
    put("role", json!(Some(&agent.role).filter(|role| *role != DEFAULT_ROLE)));
    put("mode", json!(agent.preset.map(AgentPreset::as_str)));
    put("temperature", json!(agent.temperature));
    put("max_output", json!(agent.max_output));
    if let Value::Object(mut limits) = to_json(agent)["limits"].take() {
        limits.retain(|_, value| !value.is_null());
        put(
            "limits",
            Some(limits).filter(|limits| !limits.is_empty()).map_or(Value::Null, Value::Object),
        );
    }
    text + "---\n\n" + agent.prompt.trim() + "\n"
}

/// Puts a file into a folder of agents, all of it or nothing: it is read from a hidden folder
/// beside it first, as a run would, and moved into its place only when it is a good agent and
/// `is_right` says so.
pub(super) fn write_checked(
    shelf: &LibrarySnapshot,
    folder: Folder,
    path: &Path,
    text: &str,
    is_right: impl FnOnce(&Agent) -> bool,
) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default();
    std::fs::create_dir_all(&folder.path)?;
    let staging = folder.path.join(format!(".new-{}", std::process::id()));
    std::fs::create_dir_all(&staging)?;
    let done = (|| {
        let staged = staging.join(name);
        std::fs::write(&staged, text)?;
        if let Ok(meta) = std::fs::metadata(path) {
            std::fs::set_permissions(&staged, meta.permissions())?;
        }
        let mut folders = shelf.folders.clone();
        folders.agents = vec![Folder { scope: folder.scope, path: staging.clone() }];
        let library = shelf.reload_library(folders)?;
        if let Some(problem) = library.problems.iter().find(|problem| problem.path == staged) {
            return Err(Failure::configuration(format!("{}: {}", path.display(), problem.message)));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if !library.agent(&stem).is_ok_and(is_right) {
            return Err(Failure::configuration(format!(
                "{} is written in a way that cannot be changed safely; edit it by hand",
                path.display()
            )));
        }
        std::fs::rename(&staged, path)?;
        Ok(())
    })();
    // The remainder is of no use.
    let _ = std::fs::remove_dir_all(&staging);
    done
}
