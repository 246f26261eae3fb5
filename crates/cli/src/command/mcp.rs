//! `toolcrib mcp`: using MCP servers, and serving tools over MCP.

mod access;
mod add_server;
mod client_config;
mod database_files;
mod docker_launcher;
mod edit_servers;
mod find_server;
mod import;
mod launchers;
mod list_servers;
mod oauth_callback;
mod oauth_login;
pub(crate) mod prepare_program;
mod program_paths;
mod registry_entry;
mod review_server;
mod search_registry;
mod serve;
mod server_logs;
mod set_server;
mod show_server;
mod skills;

use crate::bootstrap;
use crate::clap_args::Mcp;
use crate::output::Failure;
use find_server::own_name;

pub(crate) fn run(command: &Mcp, json: bool) -> Result<u8, Failure> {
    match command {
        Mcp::Add(command) => bootstrap::block_on(add_server::run(command, json)),
        Mcp::Import(command) => bootstrap::block_on(import::run(command, json)),
        Mcp::List(args) => bootstrap::block_on(list_servers::run(args, json)),
        Mcp::Show { name, workspace_args } => {
            bootstrap::block_on(show_server::run(name, workspace_args, json))
        }
        Mcp::Set(command) => bootstrap::block_on(set_server::run(command, json)),
        Mcp::Restart { name, fetch } => set_server::restart(name, *fetch, json),
        Mcp::Search(command) => bootstrap::block_on(search_registry::run(command, json)),
        Mcp::Test(command) => bootstrap::block_on(review_server::test(command, json)),
        Mcp::Review(command) => bootstrap::block_on(review_server::review(command, json)),
        Mcp::Logs { name } => server_logs::run(name),
        Mcp::Auth(command) => bootstrap::block_on(oauth_login::run(command, json)),
        Mcp::Skills(command) => bootstrap::block_on(skills::run(command, json)),
        Mcp::Rm { name } => {
            bootstrap::block_on(edit_servers::remove(own_name(name)?.as_str(), json))
        }
        Mcp::Enable { name } => {
            bootstrap::block_on(edit_servers::set_enabled(own_name(name)?.as_str(), true, json))
        }
        Mcp::Disable { name } => {
            bootstrap::block_on(edit_servers::set_enabled(own_name(name)?.as_str(), false, json))
        }
        Mcp::Connect { client } => client_config::run(*client),
        Mcp::Serve(command) => serve::run(command),
    }
}
