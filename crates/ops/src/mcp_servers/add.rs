//! Adds MCP servers.

use serde::Serialize;
use toolcrib_app::mcp::client::{ServerConfig, ServerName};

use super::file::McpServersFile;
use crate::error::OpError;

/// New servers.
#[derive(Debug, Clone)]
pub struct AddMcpServersRequest {
    /// The servers, each enabled or disabled as its entry states.
    pub servers: Vec<ServerConfig>,
}

/// The added servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddedMcpServers {
    /// Their names.
    pub added: Vec<ServerName>,
}

/// Adds all servers to the file, or none.
///
/// # Errors
/// [`OpError::Conflict`] if one of the names is taken; [`OpError::Unusable`] for a file that cannot
/// be read, [`OpError::Internal`] for one that cannot be written.
pub fn add(
    file: &McpServersFile,
    request: AddMcpServersRequest,
) -> Result<AddedMcpServers, OpError> {
    let mut servers = file.read()?;
    let mut added = Vec::new();
    for server in request.servers {
        if servers.iter().any(|other| other.name == server.name) {
            let name = &server.name;
            return Err(OpError::Conflict(format!("there is a server {name} already")));
        }
        added.push(server.name.clone());
        servers.push(server);
    }
    file.write(&servers)?;
    Ok(AddedMcpServers { added })
}
