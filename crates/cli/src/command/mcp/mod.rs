//! `toolcrib mcp`: servers of others, and being one.

mod access;
mod add_server;
mod client_config;
mod database_files;
mod docker_launcher;
pub(crate) mod edit_servers;
mod import;
mod launchers;
mod oauth_callback;
mod oauth_login;
pub(crate) mod prepare_program;
mod program_paths;
mod registry_entry;
mod review_server;
mod search_registry;
mod serve;
mod set_server;
mod show_server;
mod skills;

use serde_json::{Value, json};
use toolcrib_app::mcp::client::{ServerConfig, ServerName};
use toolcrib_ops::mcp_servers::{self, Authorization, ListMcpServersRequest, McpServerReply};
use toolcrib_ops::{OpError, Resource};

use crate::clap_args::{Mcp, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, terminal};

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
    match bootstrap::mcp_file() {
        Some(file) => Ok(file.find(name)?),
        None => Err(unknown_server(name)),
    }
}

fn own_name(name: &str) -> Result<ServerName, Failure> {
    find_server(name).map(|server| server.name)
}

fn unknown_server(name: &str) -> Failure {
    OpError::not_found(Resource::McpServer, name).into()
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
            let own = json!({"place": server.endpoint, "authorization": server.authorization});
            json_document::with_members(server, own)
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

fn logs(name: &str) -> Result<u8, Failure> {
    let name = own_name(name)?;
    match mcp_servers::logs(&bootstrap::state_folder()?, &name, None)? {
        Some(text) => output::print_line(&terminal::escape_controls(&text))?,
        None => output::eprint_line(&format!("toolcrib: {name} has written nothing")),
    }
    Ok(0)
}
