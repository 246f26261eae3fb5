//! `toolcrib agent tools`: check boxes of every tool for one agent, and changes of its list that
//! keep the rest of its file unchanged.

use serde_json::json;
use toolcrib_core::{Risk, display_text};
use toolcrib_ops::OpError;
use toolcrib_ops::agents::{
    self, AgentToolRow, AgentToolsReply, AgentToolsRequest, ChangeAgentToolsRequest, ToolListChange,
};

use super::agent;
use super::library_snapshot::{self, LibrarySnapshot};
use crate::bootstrap;
use crate::clap_args::AgentTools;
use crate::output::{self, Failure};

pub(super) fn run(command: &AgentTools, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(&command.library_args, json)?;
    let ctx = agent::context_of_existing(&snapshot);
    let name = command.name.clone();
    let reply = match change(command) {
        None => agents::tools(&ctx, &AgentToolsRequest { name }),
        Some(change) => {
            let request = ChangeAgentToolsRequest { name, change };
            bootstrap::block_on(async { Ok(agents::change_tools(&ctx, request).await) })?
        }
    };
    print(&reply.map_err(|error| failure(&ctx, &command.name, error))?, json)
}

fn failure(ctx: &agents::AgentFiles<'_>, name: &str, error: OpError) -> Failure {
    match error {
        OpError::Conflict(built_in) => Failure::usage(format!(
            "{built_in}; make your own with `toolcrib agent new NAME --from {name}`"
        )),
        error => agent::failure(ctx, name, error),
    }
}

/// Returns the change that the options request; `None` only shows the tools.
fn change(command: &AgentTools) -> Option<ToolListChange> {
    if let Some(list) = &command.set {
        return Some(ToolListChange::Set(list.clone()));
    }
    let (add, remove) = (command.add.clone(), command.remove.clone());
    (!add.is_empty() || !remove.is_empty()).then_some(ToolListChange::Edit { add, remove })
}

/// One row per tool.
fn print(reply: &AgentToolsReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(reply), true)?;
    } else {
        let lines: Vec<Vec<String>> = reply.tools.iter().map(line).collect();
        output::print_line(&library_snapshot::table(&lines))?;
    }
    Ok(0)
}

fn line(row: &AgentToolRow) -> Vec<String> {
    let mut marks = row.permissions.clone();
    match row.risk {
        Risk::Safe => {}
        Risk::High => marks.insert(0, "high".to_owned()),
        Risk::Critical => marks.insert(0, "critical".to_owned()),
    }
    if !row.enabled {
        marks.push("off".to_owned());
    }
    if row.is_broken {
        marks.push("broken".to_owned());
    }
    let about = display_text::first_sentence(&row.description).to_owned();
    let check = if row.has { "[x]" } else { "[ ]" };
    vec![format!("{check} {}", row.tool), about, marks.join(", ")]
}
