//! `toolcrib mcp skills`: lists the skills of a server, and installs them. No skill is used before
//! it was installed.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde_json::{Value, json};
use toolcrib_agent::library::{self, Skill};
use toolcrib_app::mcp::client::{Connection, OfferedFile, OfferedSkill};
use toolcrib_core::ToolError;

use super::find_server::find_server;
use super::review_server::{open_connection, unreachable};
use crate::clap_args::{LibraryArgs, McpSkills};
use crate::command::library_snapshot::{self, LibrarySnapshot};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

/// A folder from which nothing is loaded.
const STAGING_FOLDER: &str = ".new";

/// The state of a server's skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SkillState {
    /// It was not installed.
    NotEnabled,
    /// It was installed, and is unchanged.
    Enabled,
    /// It was installed, and the server now has another version; the installed one is used.
    Changed,
}

impl SkillState {
    fn as_str(self) -> &'static str {
        match self {
            Self::NotEnabled => "held",
            Self::Enabled => "enabled",
            Self::Changed => "changed",
        }
    }
}

/// Returns the folder of this server's installed skills.
pub(super) fn server_skills_folder(server: &str) -> Result<PathBuf, Failure> {
    let none = || Failure::configuration("there is no folder for the configuration");
    Ok(bootstrap::server_skills(&bootstrap::config_folder().ok_or_else(none)?).join(server))
}

pub(super) async fn run(command: &McpSkills, json: bool) -> Result<u8, Failure> {
    let name = command.name.as_str();
    find_server(name)?;
    if !command.disable.is_empty() {
        return disable(name, &command.disable, json);
    }
    let (_toolcrib, connection) = open_connection(name, &command.workspace_args).await?;
    let offered = connection.skills().await.map_err(|error| unreachable(name, &error))?;
    for wanted in &command.enable {
        let skill = offered.iter().find(|skill| skill.name == *wanted);
        let skill = skill.ok_or_else(|| {
            Failure::not_found(format!(
                "{name} lists no skill {wanted}; `toolcrib mcp skills {name}` shows them"
            ))
        })?;
        enable(name, &connection, skill, command.workspace_args.workspace.as_ref()).await?;
    }
    connection.disconnect().await;
    show(name, &offered, json)
}

/// Installs a skill completely or not at all.
async fn enable(
    server: &str,
    connection: &Connection,
    skill: &OfferedSkill,
    workspace: Option<&PathBuf>,
) -> Result<(), Failure> {
    let refused = |why: &str| Failure::run(format!("the skill {} of {server} {why}", skill.name));
    let files = skill.files.as_ref().map_err(|why| refused(why))?;
    check_name_free(server, &skill.name, workspace).await?;
    let staging = tempfile::tempdir()?;
    let from = staging.path().join(&skill.name);
    for file in files {
        let read: Result<Vec<u8>, ToolError> = connection.skill_file(file).await;
        let path = from.join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap_or(&from))?;
        std::fs::write(
            path,
            read.map_err(|error| refused(&format!("was not taken over. {}", error.message)))?,
        )?;
    }
    let whole = library::read_bundle(&from).map_err(|fault| refused(&fault))?;
    if whole.front_matter != skill.front_matter {
        return Err(refused("says of itself something else than its server says of it"));
    }
    let to = server_skills_folder(server)?;
    // Stage it beside the others, so that a complete new version replaces the old one.
    let (new, own) = (to.join(STAGING_FOLDER), to.join(&skill.name));
    drop(std::fs::remove_dir_all(&new));
    library::add_skill(&from, &new).map_err(|problem| refused(&problem.to_string()))?;
    let before = tempfile::tempdir_in(&to)?;
    if own.exists() {
        std::fs::rename(&own, before.path().join(&skill.name))?;
    }
    let put = std::fs::rename(new.join(&skill.name), &own);
    if put.is_err() {
        drop(std::fs::rename(before.path().join(&skill.name), &own));
    }
    put?;
    output::eprint_line(&format!(
        "toolcrib: the skill {} of {server} is taken over; what it says is still a stranger's",
        skill.name
    ));
    Ok(())
}

/// Checks that no other skill has the name: neither of the two would be loaded.
async fn check_name_free(
    server: &str,
    skill: &str,
    workspace: Option<&PathBuf>,
) -> Result<(), Failure> {
    let places = LibraryArgs { workspace: workspace.cloned(), tools: Vec::new() };
    let own = server_skills_folder(server)?;
    let looked = tokio::task::spawn_blocking(move || LibrarySnapshot::load(&places, true)).await;
    let shelf = looked.map_err(|error| Failure::run(error.to_string()))??;
    match shelf.library().skill(skill) {
        Ok(Skill { location: place, .. })
            if place.path().is_none_or(|path| !path.starts_with(&own)) =>
        {
            Err(Failure::usage(format!("there is a skill {skill} already ({place})")))
        }
        _ => Ok(()),
    }
}

fn disable(server: &str, skills: &[String], json: bool) -> Result<u8, Failure> {
    let folder = server_skills_folder(server)?;
    for skill in skills {
        let there = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let found = there
            .map(|entry| entry.path())
            .find(|path| path.file_name() == Some(OsStr::new(skill)));
        let found = found.ok_or_else(|| {
            Failure::not_found(format!("no skill {skill} was taken over from {server}"))
        })?;
        std::fs::remove_dir_all(found)?;
    }
    if json {
        output::print_json(&json!({"server": server, "disabled": skills}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {} of {server} is forgotten", skills.join(", ")));
    }
    Ok(0)
}

/// Returns the state of a skill, by its installed files.
fn skill_state(server: &str, skill: &OfferedSkill) -> Result<SkillState, Failure> {
    // A skill that cannot be installed may have any name.
    let Ok(files) = &skill.files else { return Ok(SkillState::NotEnabled) };
    let own = server_skills_folder(server)?.join(&skill.name);
    if !own.exists() {
        return Ok(SkillState::NotEnabled);
    }
    let is_same = |file: &OfferedFile| {
        std::fs::read(own.join(&file.path)).is_ok_and(|bytes| file.matches_digest(&bytes))
    };
    let same = files.iter().all(is_same);
    Ok(if same { SkillState::Enabled } else { SkillState::Changed })
}

fn show(server: &str, offered: &[OfferedSkill], json: bool) -> Result<u8, Failure> {
    let about = |skill: &OfferedSkill| {
        let text = skill.front_matter.get("description").and_then(Value::as_str);
        terminal::escape_to_line(text.unwrap_or_default())
    };
    if json {
        let row = |skill: &OfferedSkill| -> Result<Value, Failure> {
            let files = skill.files.as_ref().map(|files| {
                files
                    .iter()
                    .map(|file| json!({"path": file.path, "bytes": file.bytes()}))
                    .collect::<Value>()
            });
            Ok(json!({
                "name": skill.name, "uri": skill.uri, "state": skill_state(server, skill)?.as_str(),
                "front_matter": skill.front_matter,
                "files": files.as_ref().ok(), "problem": files.as_ref().err(),
            }))
        };
        let rows: Result<Vec<Value>, Failure> = offered.iter().map(row).collect();
        output::print_json(&json!({"server": server, "skills": rows?}), true)?;
        return Ok(0);
    }
    if offered.is_empty() {
        output::eprint_line(&format!("toolcrib: {server} lists no skills"));
        return Ok(0);
    }
    let mut rows = vec![["SKILL", "STATE", "FILES", "DESCRIPTION"].map(str::to_owned).to_vec()];
    for skill in offered {
        let files = skill.files.as_ref().map_or("-".to_owned(), |files| files.len().to_string());
        let words = match &skill.files {
            Ok(_) => about(skill),
            Err(why) => format!("cannot be taken over: it {}", terminal::escape_to_line(why)),
        };
        let state = skill_state(server, skill)?.as_str().to_owned();
        rows.push(vec![terminal::escape_to_line(&skill.name), state, files, words]);
    }
    output::print_line(&library_snapshot::table(&rows))?;
    output::eprint_line(&format!(
        "toolcrib: `toolcrib mcp skills {server} --enable NAME` takes one over"
    ));
    Ok(0)
}
