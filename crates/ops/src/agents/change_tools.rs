//! Changes only the list of tools in the file of an agent.

use std::fs;
use std::path::Path;

use serde_json::Value;
use toolcrib_agent::library::{Agent, Folder, Location, ToolNames, expand_tool_list};

use super::agent_file::{self, not_editable};
use super::context::AgentFiles;
use super::details::unreadable;
use super::find::find;
use super::key_edit::{replace_in_front_matter, replace_in_toml};
use super::tools::{AgentToolsReply, tools_of};
use crate::administration::Act;
use crate::error::OpError;

/// A change of an agent's tools.
#[derive(Debug, Clone)]
pub struct ChangeAgentToolsRequest {
    /// Name of the agent.
    pub name: String,
    /// The change. Entries are names, `group:G`, `server:S` or globs with `*`.
    pub change: ToolListChange,
}

/// A change of a list of tools.
#[derive(Debug, Clone)]
pub enum ToolListChange {
    /// Exactly these entries; an empty list means no tools at all.
    Set(Vec<String>),
    /// Adds and removes entries.
    Edit {
        /// Entries to add.
        add: Vec<String>,
        /// Entries to remove; an entry that names several tools is replaced by the names of the
        /// remaining ones.
        remove: Vec<String>,
    },
}

/// Changes the list of tools of an agent.
///
/// # Errors
/// [`OpError::NotFound`]; [`OpError::Invalid`] for an entry that names no tool;
/// [`OpError::Conflict`] for a built-in agent;
/// [`OpError::Unusable`] for a file that cannot be changed safely; [`OpError::Internal`],
/// [`OpError::Unrecorded`].
pub async fn change_tools(
    ctx: &AgentFiles<'_>,
    request: ChangeAgentToolsRequest,
) -> Result<AgentToolsReply, OpError> {
    let agent = find(ctx, &request.name)?;
    let names = ctx.library.tool_names();
    let Some(list) = new_list(agent, &request.change, &names)? else {
        return Ok(tools_of(ctx, agent));
    };
    write(ctx, agent, &list)?;
    (ctx.changed)();
    ctx.recorder.record(Act::new("agent.put", request.name.as_str())).await?;
    let now = AgentFiles { library: ctx.library.reloaded(), ..ctx.clone() };
    Ok(tools_of(&now, find(&now, &request.name)?))
}

/// Returns the list after the change; `None` if it stays the same.
fn new_list(
    agent: &Agent,
    change: &ToolListChange,
    names: &[ToolNames],
) -> Result<Option<Vec<String>>, OpError> {
    let (add, remove) = match change {
        ToolListChange::Set(list) => {
            let list = trimmed(list);
            check_known(&list, names)?;
            return Ok(Some(list));
        }
        ToolListChange::Edit { add, remove } => (trimmed(add), trimmed(remove)),
    };
    if add.is_empty() && remove.is_empty() {
        return Ok(None);
    }
    check_known(&add, names)?;
    let list = match &agent.tools {
        Some(list) => list.clone(),
        // The agent has all tools: there is nothing to add, and after a removal, the remaining
        // tools must be named.
        None if remove.is_empty() => return Ok(None),
        None => vec!["*".to_owned()],
    };
    let mut list = without(list, &remove, names)?;
    for entry in add {
        if !list.contains(&entry) {
            list.push(entry);
        }
    }
    Ok(Some(list))
}

fn trimmed(list: &[String]) -> Vec<String> {
    list.iter().map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect()
}

/// Refuses entries of a request that name no tool: they are misspelled.
fn check_known(list: &[String], names: &[ToolNames]) -> Result<(), OpError> {
    match expand_tool_list(Some(list), names).complaint() {
        None => Ok(()),
        Some(complaint) => Err(OpError::Invalid(complaint)),
    }
}

/// Returns a list without the tools of some entries.
fn without(
    list: Vec<String>,
    remove: &[String],
    names: &[ToolNames],
) -> Result<Vec<String>, OpError> {
    let unlisted: Vec<String> =
        remove.iter().filter(|entry| !list.contains(entry)).cloned().collect();
    check_known(&unlisted, names)?;
    let gone = expand_tool_list(Some(remove), names).tools;
    let mut left: Vec<String> = Vec::new();
    for entry in list.into_iter().filter(|entry| !remove.contains(entry)) {
        let tools = expand_tool_list(Some(std::slice::from_ref(&entry)), names).tools;
        let stays = if tools.iter().any(|tool| gone.contains(tool)) {
            tools.into_iter().filter(|tool| !gone.contains(tool)).collect()
        } else {
            vec![entry]
        };
        for entry in stays {
            if !left.contains(&entry) {
                left.push(entry);
            }
        }
    }
    Ok(left)
}

/// Changes the list in the agent's file.
fn write(ctx: &AgentFiles<'_>, agent: &Agent, list: &[String]) -> Result<(), OpError> {
    let Location::File { scope, path } = &agent.location else {
        let name = &agent.name;
        return Err(OpError::Conflict(format!("{name} is built in and cannot be changed")));
    };
    let _alone = agent_file::lock();
    // Replace the target of a link, so that the link itself stays.
    let path = path.canonicalize().map_err(|error| unreadable(&error))?;
    let text = fs::read_to_string(&path).map_err(|error| unreadable(&error))?;
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let value = Value::from(list);
    let changed = if is_toml {
        replace_in_toml(&text, "tools", &value)
    } else {
        replace_in_front_matter(&text, "tools", &value)
    };
    let changed = changed.ok_or_else(|| not_editable(&path))?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let wanted = Agent { tools: Some(list.to_vec()), ..agent.clone() };
    let folder = Folder { scope: *scope, path: folder };
    agent_file::write(&ctx.library, &folder, &path, &changed, |read| {
        // Only the list may differ.
        Agent { location: wanted.location.clone(), ..read.clone() } == wanted
    })
}
