//! `toolcrib agent list|show|new`: agents as files.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolcrib_agent::library::{Folder, Scope, UnknownName};
use toolcrib_core::Exclusion;
use toolcrib_ops::OpError;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::agents::{
    self, AddAgentRequest, AgentDetails, AgentFiles, AgentReply, ExpandedList, ShowAgentRequest,
};

use super::library_snapshot::{self, LibrarySnapshot};
use crate::clap_args::{AgentNew, LibraryArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

/// Text for an agent without a list of tools.
const ALL_TOOLS: &str = "all";

/// Returns the context of operations on agents; `new_agents` is the folder for new ones.
fn context(snapshot: &LibrarySnapshot, new_agents: Folder) -> AgentFiles<'_> {
    AgentFiles {
        library: snapshot.context(),
        folder: new_agents,
        recorder: Recorder::None,
        changed: &|| (),
    }
}

/// Returns the context of operations on existing agents.
pub(super) fn context_of_existing(snapshot: &LibrarySnapshot) -> AgentFiles<'_> {
    // Without a home folder, no agent can be written.
    let path = snapshot.folder_for_new("agents", false).unwrap_or_default();
    context(snapshot, Folder { scope: Scope::User, path })
}

pub(super) fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let reply = agents::list(&context_of_existing(&snapshot));
    library_snapshot::print_problems(&reply.problems, json);
    if json {
        output::print_json(&json!(reply.agents), true)?;
        return Ok(0);
    }
    let mut rows =
        vec![["AGENT", "FROM", "TOOLS", "MODEL", "DESCRIPTION"].map(str::to_owned).to_vec()];
    rows.extend(reply.agents.into_iter().zip(reply.tool_counts).map(|(agent, count)| {
        let tools = count.map_or_else(|| ALL_TOOLS.to_owned(), |count| count.to_string());
        let model = agent.model.unwrap_or_else(|| "-".to_owned());
        vec![agent.name, agent.source.from, tools, model, agent.description]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

pub(super) fn show(name: &str, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let ctx = context_of_existing(&snapshot);
    let request = ShowAgentRequest { name: name.to_owned() };
    let details = agents::show(&ctx, &request).map_err(|error| failure(&ctx, name, error))?;
    library_snapshot::print_problems(&details.problems, json);
    if json {
        output::print_json(&json!(details), true)?;
    } else {
        output::print_line(&to_text(&details))?;
    }
    Ok(0)
}

/// Returns the failure of an operation: a broken file with this name is a configuration error.
pub(super) fn failure(ctx: &AgentFiles<'_>, name: &str, error: OpError) -> Failure {
    let OpError::NotFound { name: missing, near, .. } = error else { return error.into() };
    let problems = agents::problems_of_agent(ctx, name);
    if problems.is_empty() {
        let unknown = UnknownName { kind: "agent", name: missing, near };
        return Failure::not_found(format!("{unknown}; `toolcrib agent list` shows them"));
    }
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Failure::configuration(problems.join("\n"))
}

/// Checks that the name belongs to an agent; the error contains the fault of a file with this name.
pub(super) fn require(snapshot: &LibrarySnapshot, name: &str) -> Result<(), Failure> {
    let ctx = context_of_existing(snapshot);
    let request = ShowAgentRequest { name: name.to_owned() };
    agents::show(&ctx, &request).map(drop).map_err(|error| failure(&ctx, name, error))
}

/// Describes the tools in its list that it is not offered, with the reasons.
fn excluded_tools_text(details: &AgentDetails) -> String {
    let exclusions = details.tools.exclusions.iter();
    let rows: Vec<Vec<String>> = exclusions
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

fn to_text(details: &AgentDetails) -> String {
    let AgentDetails { agent, prompt, tools, .. } = details;
    let mut text = format!("{} - {}\n", agent.name, agent.title);
    if !agent.description.is_empty() {
        text += &format!("\n{}\n", agent.description);
    }
    let limit = |name: &str| match &agent.limits[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        number => Some(number.to_string()),
    };
    let facts = [
        ("from", agent.place.clone()),
        ("model", agent.model.clone().unwrap_or_default()),
        ("role", agent.role.clone()),
        ("mode", agent.mode.clone().unwrap_or_default()),
        ("skills", agent.skills.join(", ")),
        ("rounds", limit("rounds").unwrap_or_default()),
        ("calls", limit("calls").unwrap_or_default()),
        ("tokens", limit("tokens").unwrap_or_default()),
        ("time", limit("time").map(|seconds| format!("{seconds} s")).unwrap_or_default()),
        ("cost", agent.limits["cost"].as_f64().map(|usd| format!("${usd}")).unwrap_or_default()),
    ];
    text.push('\n');
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "{name:<8} {value}");
    }
    text += &tools_text(agent, &tools.expansion);
    text += &excluded_tools_text(details);
    let _ = write!(text, "\nprompt\n{}", indented(prompt));
    text
}

/// Describes the tools that the list selects.
fn tools_text(agent: &AgentReply, expansion: &ExpandedList) -> String {
    let count = expansion.tools.len();
    let mut text = match &agent.tools {
        None => format!("tools    all, which are {count}\n"),
        Some(_) => format!("tools    {count}\n"),
    };
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
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", format!("  {line}").trim_end())).collect()
}

pub(super) fn new(command: &AgentNew, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(&command.library_args, json)?;
    let scope = if command.project { Scope::Project } else { Scope::User };
    let path = snapshot.folder_for_new("agents", command.project)?;
    let ctx = context(&snapshot, Folder { scope, path });
    let name = &command.name;
    let request = AddAgentRequest { name: name.clone(), from: command.from.clone() };
    let added = bootstrap::block_on(async { Ok(agents::add(&ctx, request).await) })?;
    let agent = added.map_err(|error| match error {
        OpError::Conflict(taken) => Failure::usage(taken),
        error => failure(&ctx, command.from.as_deref().unwrap_or_default(), error),
    })?;
    let path = agent.agent.source.path;
    if json {
        output::print_json(&json!({"agent": name, "path": path}), true)?;
    } else {
        output::print_line(&path.unwrap_or_default().display().to_string())?;
        output::eprint_line(&format!(
            "toolcrib: change the file to what you need, then: toolcrib run --agent {name} \"…\"\n\
             toolcrib: its tools: toolcrib agent tools {name}"
        ));
    }
    Ok(0)
}
