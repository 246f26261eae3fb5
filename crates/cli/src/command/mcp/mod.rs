//! `toolcrib mcp`: servers of others, and being one.

mod client_config;
pub(crate) mod edit_servers;
mod import;
mod oauth_callback;
mod oauth_login;
mod serve;
mod skills;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::mcp::client::{
    Connection, PendingReview, Remote, ServerConfig, ServerName, StoredCredentials, ToolChange,
};

use crate::clap_args::{Mcp, McpReview, McpTestArgs, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

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
    let all = bootstrap::mcp_servers()?;
    all.into_iter().find(|server| server.name.as_str() == name).ok_or_else(|| unknown_server(name))
}

fn unknown_server(name: &str) -> Failure {
    Failure::not_found(format!("there is no server {name}; `toolcrib mcp list` shows them"))
}

/// How a server is reached, in a line.
fn endpoint_text(config: &ServerConfig) -> String {
    match &config.remote {
        Remote::Stdio(program) => {
            let words = std::iter::once(&program.command).chain(&program.args);
            words.cloned().collect::<Vec<_>>().join(" ")
        }
        Remote::Http(http) => http.url.clone(),
    }
}

async fn list(world: &WorkspaceArgs, json: bool) -> Result<u8, Failure> {
    let servers = bootstrap::mcp_servers()?;
    let toolcrib = bootstrap::build_with_stores(world).await?;
    let infos = toolcrib.infos();
    let tools = |server: &ServerConfig| {
        infos.iter().filter(|info| info.source == server.name.as_str()).count()
    };
    let authorizations = authorizations(&servers);
    let kept = |server: &ServerConfig| authorizations.get(&server.name);
    if json {
        let row = |server: &ServerConfig| {
            let authorization =
                kept(server).and_then(|kept| match (kept.is_needed(), kept.is_granted()) {
                    (true, _) => Some("needed"),
                    (false, true) => Some("granted"),
                    (false, false) => None,
                });
            json!({
                "name": server.name, "place": endpoint_text(server), "enabled": server.enabled,
                "trusted": server.trusted, "tools": tools(server), "authorization": authorization,
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
        let place = terminal::escape_to_line(&endpoint_text(server));
        text += &format!("{:<20} {state:<5} {:>5}  {place}\n", server.name.as_str(), tools(server));
    }
    output::print_line(&text)?;
    for server in
        servers.iter().filter(|server| kept(server).is_some_and(StoredCredentials::is_needed))
    {
        let name = &server.name;
        output::eprint_line(&format!(
            "toolcrib: {name} needs authorization: run `toolcrib mcp auth {name}`"
        ));
    }
    Ok(0)
}

/// What is kept of authorizations. A vault that cannot be read hinders no list.
fn authorizations(servers: &[ServerConfig]) -> BTreeMap<ServerName, StoredCredentials> {
    let secrets =
        bootstrap::open_vault().ok().and_then(|vault| vault.read().ok()).unwrap_or_default();
    let of = |server: &ServerConfig| {
        let Remote::Http(http) = &server.remote else { return None };
        let text = secrets.get(&toolcrib_app::oauth_secret_name(&server.name)?)?;
        Some((server.name.clone(), StoredCredentials::parse(Some(text.expose()), &http.url)))
    };
    servers.iter().filter_map(of).collect()
}

/// A Toolcrib with this one server, on.
async fn open_connection(
    name: &str,
    world: &WorkspaceArgs,
) -> Result<(Toolcrib, Arc<Connection>), Failure> {
    let config = ServerConfig { enabled: true, ..find_server(name)? };
    let toolcrib = bootstrap::build_with_mcp_server(world, config).await?;
    let connection = toolcrib.mcp().connection(name).ok_or_else(|| unknown_server(name))?;
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
        edit_servers::update_servers(|servers| {
            for server in servers.iter_mut().filter(|server| server.name.as_str() == name) {
                server.enabled = true;
            }
        })?;
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
