//! Finds a configured MCP server by its name.

use toolcrib_app::mcp::client::{ServerConfig, ServerName};
use toolcrib_ops::{OpError, Resource};

use crate::bootstrap;
use crate::output::Failure;

/// The server of this name, in capital or small letters.
pub(super) fn find_server(name: &str) -> Result<ServerConfig, Failure> {
    match bootstrap::mcp_file() {
        Some(file) => Ok(file.find(name)?),
        None => Err(unknown_server(name)),
    }
}

/// The name of this server as it is configured.
pub(super) fn own_name(name: &str) -> Result<ServerName, Failure> {
    find_server(name).map(|server| server.name)
}

/// No server has this name.
pub(super) fn unknown_server(name: &str) -> Failure {
    OpError::not_found(Resource::McpServer, name).into()
}
