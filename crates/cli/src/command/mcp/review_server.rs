//! `toolcrib mcp test|review`: shows the tools of a server for review by a person.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::mcp::client::{Connection, Finding, PendingReview, ServerConfig, ToolChange};
use toolcrib_ops::mcp_servers::{self, McpServerReview, OfferedMcpTool};

use super::edit_servers;
use super::find_server::{find_server, unknown_server};
use crate::clap_args::{McpReview, McpTestArgs, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

/// Exit code if tools are held.
const EXIT_TOOLS_HELD: u8 = 5;

/// Builds a Toolcrib with only this server, enabled.
pub(super) async fn open_connection(
    name: &str,
    world: &WorkspaceArgs,
) -> Result<(Toolcrib, Arc<Connection>), Failure> {
    let config = ServerConfig { enabled: true, ..find_server(name)? };
    let name = config.name.to_string();
    let toolcrib = bootstrap::build_with_mcp_server(world, config).await?;
    let connection = toolcrib.mcp().connection(&name).ok_or_else(|| unknown_server(&name))?;
    Ok((toolcrib, connection))
}

pub(super) fn unreachable(name: &str, error: &toolcrib_core::ToolError) -> Failure {
    let why = error.detail.as_deref().unwrap_or(&error.message);
    Failure::run(format!("the server {name} cannot be used: {why}"))
}

pub(super) async fn test(command: &McpTestArgs, json: bool) -> Result<u8, Failure> {
    let (_toolcrib, connection) = open_connection(&command.name, &command.workspace_args).await?;
    let tested = mcp_servers::test(&connection).await?;
    let name = tested.name.as_str();
    if !json {
        output::eprint_line(&format!(
            "toolcrib: {name} is {}; it has {} tools",
            tested.state,
            tested.tools.len()
        ));
        output::print_line(&offer_text(&tested.tools))?;
    }
    let accepted = !tested.reviewed && (command.accept || !json && is_agreed(name)?);
    if accepted {
        mcp_servers::accept(&connection).await?;
    }
    let reviewed = tested.reviewed || accepted;
    let enables = !command.no_enable && reviewed;
    // Also wakes a running daemon, which then reads the reviewed tools again.
    edit_servers::update_servers(|servers| {
        for server in servers.iter_mut().filter(|server| server.name.as_str() == name) {
            server.enabled |= enables;
        }
    })?;
    if json {
        let held = match reviewed {
            true => tested.held.clone(),
            // If the server was never reviewed, all of its definitions are pending.
            false => connection.known_pending_reviews().await,
        };
        let document = json!({
            "name": name, "state": tested.state, "tools": tested.tools, "held": held,
            "reviewed": reviewed, "cut": tested.cut,
            "enabled": enables || find_server(name)?.enabled,
        });
        output::print_json(&document, true)?;
    } else if let Some(cut) = &tested.cut {
        output::eprint_line(&format!("toolcrib: {cut}"));
    }
    connection.disconnect().await;
    if !reviewed {
        output::eprint_line(&format!(
            "toolcrib: {name} stays off: nothing of it was reviewed; `toolcrib mcp test {name} --accept` takes it as it is"
        ));
        return Ok(EXIT_TOOLS_HELD);
    }
    Ok(report_held_tools(name, &tested.held))
}

/// Asks the person at the terminal; without a terminal, returns `false`.
fn is_agreed(name: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    output::eprint_prompt(&format!("toolcrib: offer these tools of {name} to models? [y/N] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Renders the tools with their parameters and the findings for a reviewer.
fn offer_text(tools: &[OfferedMcpTool]) -> String {
    let mut text = String::new();
    for tool in tools {
        let about = terminal::escape_to_line(tool.description.as_deref().unwrap_or_default());
        let about: String = about.chars().take(160).collect();
        text += &format!("{}  {about}\n", tool.id);
        text += &parameters_text(tool);
        text += &findings_text(&tool.findings);
    }
    text
}

fn parameters_text(tool: &OfferedMcpTool) -> String {
    let parameters = tool.parameters.as_ref().and_then(Value::as_object);
    let one = |(name, schema): (&String, &Value)| {
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
        let star = if tool.required.contains(name) { "*" } else { "" };
        terminal::escape_to_line(&format!("{name}{star}: {kind}"))
    };
    let all: Vec<String> = parameters.into_iter().flatten().map(one).collect();
    if all.is_empty() { String::new() } else { format!("    {}\n", all.join(", ")) }
}

fn findings_text(findings: &[Finding]) -> String {
    let line = |one: &Finding| {
        let sign = if one.kind.is_warning() { "!" } else { "-" };
        let (what, place) = (one.kind.text(), terminal::escape_to_line(&one.place));
        format!("  {sign} {what} in {place}: {}\n", terminal::escape_to_line(&one.excerpt))
    };
    findings.iter().map(line).collect()
}

fn report_held_tools(name: &str, held: &[PendingReview]) -> u8 {
    if held.is_empty() {
        return 0;
    }
    let count = held.len();
    output::eprint_line(&format!(
        "toolcrib: {count} tools differ from what was reviewed and are held; see `toolcrib mcp review {name}`"
    ));
    EXIT_TOOLS_HELD
}

pub(super) async fn review(command: &McpReview, json: bool) -> Result<u8, Failure> {
    let (_toolcrib, connection) = open_connection(&command.name, &command.workspace_args).await?;
    let McpServerReview { name, held, program_change } = mcp_servers::review(&connection).await?;
    if json {
        let document = json!({
            "name": name, "held": held, "accepted": command.accept,
            "program_change": program_change,
        });
        output::print_json(&document, true)?;
    } else {
        if let Some(change) = &program_change {
            output::eprint_line(&format!("toolcrib: {name}: {change}"));
        }
        for held in &held {
            output::print_line(&held_text(held))?;
        }
    }
    if command.accept {
        let count = mcp_servers::accept(&connection).await?.tools;
        // Writing the file makes a running daemon read the reviewed tools again.
        edit_servers::update_servers(|_| ())?;
        output::eprint_line(&format!("toolcrib: {count} tools of {name} count as reviewed now"));
    } else if held.is_empty() {
        output::eprint_line(&format!("toolcrib: nothing of {name} differs from what was reviewed"));
    }
    connection.disconnect().await;
    Ok(if command.accept || held.is_empty() { 0 } else { EXIT_TOOLS_HELD })
}

fn held_text(held: &PendingReview) -> String {
    let what = match held.change {
        ToolChange::New => "is new",
        ToolChange::Changed => "has changed",
        ToolChange::Gone => "is gone",
    };
    let findings = findings_text(&held.findings);
    // A diff has several lines; its text must not add others.
    let diff = terminal::escape_controls(&held.diff);
    format!("{} {what}:\n{findings}{diff}", terminal::escape_to_line(&held.tool))
}
