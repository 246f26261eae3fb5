//! `toolcrib tool why`: explains whether a tool is offered to a caller, what excludes it otherwise,
//! and how to change that.

use serde_json::json;
use toolcrib_ops::tools::{self, WhyRequest};

use super::agent;
use super::library_snapshot::LibrarySnapshot;
use crate::clap_args::ToolWhy;
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal};

pub(super) fn run(command: &ToolWhy, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(&command.library_args, json)?;
    if let Some(name) = &command.agent {
        // Report a file with this name that cannot be read, rather than an unknown agent.
        agent::require(&snapshot, name)?;
    }
    let ctx = op_context::for_toolcrib(&snapshot.toolcrib, Some(snapshot.library()));
    let request = WhyRequest {
        tool: command.name.clone(),
        agent: command.agent.clone(),
        on_device: command.on_device,
        ..WhyRequest::default()
    };
    let reply = bootstrap::block_on(async { Ok(tools::why(&ctx, request).await?) })?;
    if json {
        output::print_json(&json!(reply), true)?;
        return Ok(0);
    }
    let (tool, agent) = (&reply.tool, reply.agent.as_deref());
    let to =
        agent.map(|name| format!(" to {}", terminal::escape_to_line(name))).unwrap_or_default();
    let text = match &reply.excluded {
        None => format!("{tool} is offered{to}\n"),
        Some(reason) => {
            let reason = terminal::escape_to_line(&reason.to_string());
            let advice = reply.advice.map(|advice| format!("{advice}\n")).unwrap_or_default();
            format!("{tool} is not offered{to}: {reason}\n{advice}")
        }
    };
    output::print_line(&text)?;
    Ok(0)
}
