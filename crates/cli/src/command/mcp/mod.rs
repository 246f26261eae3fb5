//! `toolcrib mcp`: servers of others, and being one.

mod access;
mod add_server;
mod client_config;
mod edit_servers;
mod import;
mod launchers;
mod oauth_callback;
mod oauth_login;
mod program_paths;
mod review_server;
mod search_registry;
mod serve;
mod set_server;
mod show_server;
mod skills;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib_app::mcp::client::{Remote, ServerConfig, ServerName, StoredCredentials};

use crate::clap_args::{Mcp, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

pub(crate) fn run(command: &Mcp, json: bool) -> Result<u8, Failure> {
    match command {
        Mcp::Add(command) => add_server::run(command, json),
        Mcp::Import(command) => import::run(command, json),
        Mcp::List(world) => bootstrap::block_on(list(world, json)),
        Mcp::Show { name, workspace_args } => {
            bootstrap::block_on(show_server::run(name, workspace_args, json))
        }
        Mcp::Set(command) => set_server::run(command, json),
        Mcp::Restart { name, fetch } => set_server::restart(name, *fetch, json),
        Mcp::Search(command) => bootstrap::block_on(search_registry::run(command, json)),
        Mcp::Test(command) => bootstrap::block_on(review_server::test(command, json)),
        Mcp::Review(command) => bootstrap::block_on(review_server::review(command, json)),
        Mcp::Logs { name } => logs(name),
        Mcp::Auth(command) => bootstrap::block_on(oauth_login::run(command, json)),
        Mcp::Skills(command) => bootstrap::block_on(skills::run(command, json)),
        Mcp::Rm { name } => edit_servers::remove(own_name(name)?.as_str(), json),
        Mcp::Enable { name } => edit_servers::set_enabled(own_name(name)?.as_str(), true, json),
        Mcp::Disable { name } => edit_servers::set_enabled(own_name(name)?.as_str(), false, json),
        Mcp::Connect { client } => client_config::run(*client),
        Mcp::Serve(command) => serve::run(command),
    }
}

/// The server of this name, in capital or small letters.
fn find_server(name: &str) -> Result<ServerConfig, Failure> {
    let all = bootstrap::mcp_servers()?;
    let mut own = all.into_iter();
    own.find(|server| server.name.as_str().eq_ignore_ascii_case(name))
        .ok_or_else(|| unknown_server(name))
}

fn own_name(name: &str) -> Result<ServerName, Failure> {
    find_server(name).map(|server| server.name)
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

fn logs(name: &str) -> Result<u8, Failure> {
    let name = own_name(name)?;
    let path = bootstrap::state_folder()?.join("mcp").join(format!("{name}.log"));
    match std::fs::read(&path) {
        Ok(bytes) => {
            output::print_line(&terminal::escape_controls(&String::from_utf8_lossy(&bytes)))?;
        }
        Err(_) => output::eprint_line(&format!("toolcrib: {name} has written nothing")),
    }
    Ok(0)
}
