//! Finds a configured MCP server by its name.

use toolcrib_app::mcp::client::{ServerConfig, ServerName};
use toolcrib_ops::{OpError, Resource};

use crate::bootstrap;
use crate::output::Failure;

/// Finds the server with this name, ignoring case.
pub(super) fn find_server(name: &str) -> Result<ServerConfig, Failure> {
    match bootstrap::mcp_file() {
        Some(file) => Ok(file.find(name)?),
        None => Err(unknown_server(name)),
    }
}

/// Returns the configured name of this server.
pub(super) fn own_name(name: &str) -> Result<ServerName, Failure> {
    find_server(name).map(|server| server.name)
}

/// Returns the failure for an unknown name.
pub(super) fn unknown_server(name: &str) -> Failure {
    OpError::not_found(Resource::McpServer, name).into()
}
