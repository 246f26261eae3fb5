//! `toolcrib mcp`: servers of others, and being one.

mod auth;
mod connect;
mod edit;
mod import;
mod redirect;
mod serve;
mod skills;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::mcp::client::{Change, Connection, Held, Kept, Remote, ServerConfig, ServerName};

use crate::cli::{Mcp, McpNamed, McpReview, World};
use crate::output::{self, Failure};
use crate::{terminal, world};

/// Tools are held.
const HELD: u8 = 5;

pub(crate) fn run(command: &Mcp, json: bool) -> Result<u8, Failure> {
    match command {
        Mcp::Add(command) => edit::add(command, json),
        Mcp::Import(command) => import::run(command, json),
        Mcp::List(world) => world::block_on(list(world, json)),
        Mcp::Test(command) => world::block_on(test(command, json)),
        Mcp::Review(command) => world::block_on(review(command, json)),
        Mcp::Logs { name } => logs(name),
        Mcp::Auth(command) => world::block_on(auth::run(command, json)),
        Mcp::Skills(command) => world::block_on(skills::run(command, json)),
        Mcp::Rm { name } => edit::remove(name, json),
        Mcp::Enable { name } => edit::switch(name, true, json),
        Mcp::Disable { name } => edit::switch(name, false, json),
        Mcp::Connect { client } => connect::run(*client),
        Mcp::Serve(command) => serve::run(command),
    }
}

/// The server of this name.
fn named(name: &str) -> Result<ServerConfig, Failure> {
    let all = world::mcp_servers()?;
    all.into_iter().find(|server| server.name.as_str() == name).ok_or_else(|| no_server(name))
}

fn no_server(name: &str) -> Failure {
    Failure::not_found(format!("there is no server {name}; `toolcrib mcp list` shows them"))
}

/// How a server is reached, in a line.
fn place(config: &ServerConfig) -> String {
    match &config.remote {
        Remote::Stdio(program) => {
            let words = std::iter::once(&program.command).chain(&program.args);
            words.cloned().collect::<Vec<_>>().join(" ")
        }
        Remote::Http(http) => http.url.clone(),
    }
}

async fn list(world: &World, json: bool) -> Result<u8, Failure> {
    let servers = world::mcp_servers()?;
    let toolcrib = world::with_stores(world).await?;
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
                "name": server.name, "place": place(server), "enabled": server.enabled,
                "trusted": server.trusted, "tools": tools(server), "authorization": authorization,
            })
        };
        output::document(&Value::Array(servers.iter().map(row).collect()), true)?;
        return Ok(0);
    }
    if servers.is_empty() {
        output::note("toolcrib: there are no servers; `toolcrib mcp add` adds one");
        return Ok(0);
    }
    let mut text = format!("{:<20} {:<5} {:>5}  {}\n", "SERVER", "STATE", "TOOLS", "WHERE");
    for server in &servers {
        let state = if server.enabled { "on" } else { "off" };
        let place = terminal::one_line(&place(server));
        text += &format!("{:<20} {state:<5} {:>5}  {place}\n", server.name.as_str(), tools(server));
    }
    output::data(&text)?;
    for server in servers.iter().filter(|server| kept(server).is_some_and(Kept::is_needed)) {
        let name = &server.name;
        output::note(&format!(
            "toolcrib: {name} needs authorization: run `toolcrib mcp auth {name}`"
        ));
    }
    Ok(0)
}

/// What is kept of authorizations. A vault that cannot be read hinders no list.
fn authorizations(servers: &[ServerConfig]) -> BTreeMap<ServerName, Kept> {
    let secrets = world::vault().ok().and_then(|vault| vault.read().ok()).unwrap_or_default();
    let of = |server: &ServerConfig| {
        let Remote::Http(http) = &server.remote else { return None };
        let text = secrets.get(&toolcrib_app::authorization(&server.name)?)?;
        Some((server.name.clone(), Kept::read(Some(text.expose()), &http.url)))
    };
    servers.iter().filter_map(of).collect()
}

/// A Toolcrib with this one server, on.
async fn with(name: &str, world: &World) -> Result<(Toolcrib, Arc<Connection>), Failure> {
    let config = ServerConfig { enabled: true, ..named(name)? };
    let toolcrib = world::with_server(world, config).await?;
    let connection = toolcrib.mcp().connection(name).cloned().ok_or_else(|| no_server(name))?;
    Ok((toolcrib, connection))
}

fn unreachable(name: &str, error: &toolcrib_app::core::ToolError) -> Failure {
    let why = error.detail.as_deref().unwrap_or(&error.message);
    Failure::run(format!("the server {name} cannot be used: {why}"))
}

async fn test(command: &McpNamed, json: bool) -> Result<u8, Failure> {
    let name = command.name.as_str();
    let (toolcrib, connection) = with(name, &command.world).await?;
    let count = connection.connect().await.map_err(|error| unreachable(name, &error))?;
    let held = connection.held().await.map_err(|error| unreachable(name, &error))?;
    let infos = toolcrib.infos();
    let tools: Vec<_> = infos.iter().filter(|info| info.source == name).collect();
    if !command.keep_off {
        edit::change(|servers| {
            for server in servers.iter_mut().filter(|server| server.name.as_str() == name) {
                server.enabled = true;
            }
        })?;
    }
    if json {
        let document = json!({
            "name": name, "state": connection.state(), "tools": tools, "held": held,
            "enabled": !command.keep_off || connection.config().enabled,
        });
        output::document(&document, true)?;
    } else {
        output::note(&format!("toolcrib: {name} is {}; it has {count} tools", connection.state()));
        let mut text = String::new();
        for tool in &tools {
            let about = terminal::one_line(&tool.description);
            text += &format!("{:<40} {about}\n", tool.id.as_str());
        }
        if !text.is_empty() {
            output::data(&text)?;
        }
    }
    connection.disconnect().await;
    Ok(say_held(name, &held))
}

fn say_held(name: &str, held: &[Held]) -> u8 {
    if held.is_empty() {
        return 0;
    }
    let count = held.len();
    output::note(&format!(
        "toolcrib: {count} tools differ from what was reviewed and are held; see `toolcrib mcp review {name}`"
    ));
    HELD
}

async fn review(command: &McpReview, json: bool) -> Result<u8, Failure> {
    let name = command.name.as_str();
    let (_toolcrib, connection) = with(name, &command.world).await?;
    let held = connection.held().await.map_err(|error| unreachable(name, &error))?;
    if json {
        output::document(&json!({"name": name, "held": held, "accepted": command.accept}), true)?;
    } else {
        for held in &held {
            let what = match held.change {
                Change::New => "is new",
                Change::Changed => "has changed",
                Change::Gone => "is gone",
            };
            output::data(&format!("{} {what}:\n{}", terminal::one_line(&held.tool), held.diff))?;
        }
    }
    if command.accept {
        let count = connection.accept().await.map_err(|error| unreachable(name, &error))?;
        output::note(&format!("toolcrib: {count} tools of {name} count as reviewed now"));
    } else if held.is_empty() {
        output::note(&format!("toolcrib: nothing of {name} differs from what was reviewed"));
    }
    connection.disconnect().await;
    Ok(if command.accept || held.is_empty() { 0 } else { HELD })
}

fn logs(name: &str) -> Result<u8, Failure> {
    named(name)?;
    let path = world::state_folder()?.join("mcp").join(format!("{name}.log"));
    match std::fs::read(&path) {
        Ok(bytes) => output::data(&terminal::visible(&String::from_utf8_lossy(&bytes)))?,
        Err(_) => output::note(&format!("toolcrib: {name} has written nothing")),
    }
    Ok(0)
}
