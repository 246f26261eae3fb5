//! `toolcrib mcp`: servers of others, and being one.

mod client_config;
mod edit_servers;
mod import;
mod oauth_callback;
mod oauth_login;
mod serve;
mod skills;

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::mcp::client::{Connection, PendingReview, ServerConfig, ToolChange};
use toolcrib_ops::mcp_servers::{self, Authorization, ListMcpServersRequest, McpServerReply};
use toolcrib_ops::{OpError, Resource};

use crate::clap_args::{Mcp, McpReview, McpTestArgs, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal};

/// Tools are held.
const EXIT_TOOLS_HELD: u8 = 5;

pub(crate) fn run(command: &Mcp, json: bool) -> Result<u8, Failure> {
    match command {
        Mcp::Add(command) => edit_servers::add(command, json),
        Mcp::Import(command) => import::run(command, json),
        Mcp::List(world) => bootstrap::block_on(list(world, json)),
        Mcp::Test(command) => bootstrap::block_on(test(command, json)),
        Mcp::Review(command) => bootstrap::block_on(review(command, json)),
        Mcp::Logs { name } => logs(name),
        Mcp::Auth(command) => bootstrap::block_on(oauth_login::run(command, json)),
        Mcp::Skills(command) => bootstrap::block_on(skills::run(command, json)),
        Mcp::Rm { name } => edit_servers::remove(name, json),
        Mcp::Enable { name } => edit_servers::set_enabled(name, true, json),
        Mcp::Disable { name } => edit_servers::set_enabled(name, false, json),
        Mcp::Connect { client } => client_config::run(*client),
        Mcp::Serve(command) => serve::run(command),
    }
}

/// The server of this name.
fn find_server(name: &str) -> Result<ServerConfig, Failure> {
    match bootstrap::mcp_file() {
        Some(file) => Ok(file.find(name)?),
        None => Err(OpError::not_found(Resource::McpServer, name).into()),
    }
}

async fn list(args: &WorkspaceArgs, json: bool) -> Result<u8, Failure> {
    let configured = bootstrap::mcp_servers()?;
    let toolcrib = bootstrap::build_with_stores(args).await?;
    let ctx = op_context::for_toolcrib(&toolcrib, None);
    let vault = bootstrap::open_vault().ok();
    let request = ListMcpServersRequest { configured: Some(configured), vault };
    let servers = mcp_servers::list(&ctx, request).await?;
    if json {
        let row = |server: &McpServerReply| {
            json!({
                "name": server.name, "place": server.endpoint, "enabled": server.enabled,
                "trusted": server.trusted, "tools": server.tools,
                "authorization": server.authorization,
            })
        };
        output::print_json(&Value::Array(servers.iter().map(row).collect()), true)?;
        return Ok(0);
    }
    if servers.is_empty() {
        output::eprint_line("toolcrib: there are no servers; `toolcrib mcp add` adds one");
        return Ok(0);
    }
    let mut text = format!("{:<20} {:<5} {:>5}  {}\n", "SERVER", "STATE", "TOOLS", "WHERE");
    for server in &servers {
        let state = if server.enabled { "on" } else { "off" };
        let place = terminal::escape_to_line(&server.endpoint);
        text += &format!("{:<20} {state:<5} {:>5}  {place}\n", server.name, server.tools);
    }
    output::print_line(&text)?;
    let is_needed = |server: &&McpServerReply| server.authorization == Some(Authorization::Needed);
    for McpServerReply { name, .. } in servers.iter().filter(is_needed) {
        output::eprint_line(&format!(
            "toolcrib: {name} needs authorization: run `toolcrib mcp auth {name}`"
        ));
    }
    Ok(0)
}

/// A Toolcrib with this one server, on.
async fn open_connection(
    name: &str,
    world: &WorkspaceArgs,
) -> Result<(Toolcrib, Arc<Connection>), Failure> {
    let config = ServerConfig { enabled: true, ..find_server(name)? };
    let toolcrib = bootstrap::build_with_mcp_server(world, config).await?;
    let connection = toolcrib.mcp().connection(name).cloned();
    let connection = connection.ok_or_else(|| OpError::not_found(Resource::McpServer, name))?;
    Ok((toolcrib, connection))
}

fn unreachable(name: &str, error: &toolcrib_app::core::ToolError) -> Failure {
    let why = error.detail.as_deref().unwrap_or(&error.message);
    Failure::run(format!("the server {name} cannot be used: {why}"))
}

async fn test(command: &McpTestArgs, json: bool) -> Result<u8, Failure> {
    let name = command.name.as_str();
    let (toolcrib, connection) = open_connection(name, &command.workspace_args).await?;
    let count = connection.connect().await.map_err(|error| unreachable(name, &error))?;
    let held = connection.pending_reviews().await.map_err(|error| unreachable(name, &error))?;
    let infos = toolcrib.infos();
    let tools: Vec<_> = infos.iter().filter(|info| info.source == name).collect();
    if !command.no_enable {
        edit_servers::enable(name, true)?;
    }
    if json {
        let document = json!({
            "name": name, "state": connection.state(), "tools": tools, "held": held,
            "enabled": !command.no_enable || connection.config().enabled,
        });
        output::print_json(&document, true)?;
    } else {
        output::eprint_line(&format!(
            "toolcrib: {name} is {}; it has {count} tools",
            connection.state()
        ));
        let mut text = String::new();
        for tool in &tools {
            let about = terminal::escape_to_line(&tool.description);
            text += &format!("{:<40} {about}\n", tool.id.as_str());
        }
        if !text.is_empty() {
            output::print_line(&text)?;
        }
    }
    connection.disconnect().await;
    Ok(report_held_tools(name, &held))
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

async fn review(command: &McpReview, json: bool) -> Result<u8, Failure> {
    let name = command.name.as_str();
    let (_toolcrib, connection) = open_connection(name, &command.workspace_args).await?;
    let held = connection.pending_reviews().await.map_err(|error| unreachable(name, &error))?;
    if json {
        output::print_json(&json!({"name": name, "held": held, "accepted": command.accept}), true)?;
    } else {
        for held in &held {
            let what = match held.change {
                ToolChange::New => "is new",
                ToolChange::Changed => "has changed",
                ToolChange::Gone => "is gone",
            };
            output::print_line(&format!(
                "{} {what}:\n{}",
                terminal::escape_to_line(&held.tool),
                held.diff
            ))?;
        }
    }
    if command.accept {
        let count = connection.accept_reviews().await.map_err(|error| unreachable(name, &error))?;
        output::eprint_line(&format!("toolcrib: {count} tools of {name} count as reviewed now"));
    } else if held.is_empty() {
        output::eprint_line(&format!("toolcrib: nothing of {name} differs from what was reviewed"));
    }
    connection.disconnect().await;
    Ok(if command.accept || held.is_empty() { 0 } else { EXIT_TOOLS_HELD })
}

fn logs(name: &str) -> Result<u8, Failure> {
    find_server(name)?;
    let path = bootstrap::state_folder()?.join("mcp").join(format!("{name}.log"));
    match std::fs::read(&path) {
        Ok(bytes) => {
            output::print_line(&terminal::escape_controls(&String::from_utf8_lossy(&bytes)))?;
        }
        Err(_) => output::eprint_line(&format!("toolcrib: {name} has written nothing")),
    }
    Ok(0)
}
