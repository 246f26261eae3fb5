//! Adds MCP servers.

use toolcrib_app::mcp::client::ServerConfig;

use super::context::McpServersContext;
use crate::error::OpError;

/// New servers.
#[derive(Clone, Default)]
pub struct AddMcpServersRequest {
    /// The servers, each enabled or disabled as its entry states.
    pub servers: Vec<ServerConfig>,
    /// Values for the vault, by the names that the servers refer to.
    pub secrets: Vec<(String, String)>,
}

/// Adds servers to the file, all of them or none, and puts them in force. Secrets come first: no
/// server is written that names one which is not there. Returns the names of the servers.
///
/// # Errors
/// [`OpError::Conflict`] if there is a server of one of the names; [`OpError::Unusable`] for a file
/// that cannot be read, [`OpError::Internal`] for one that cannot be written; [`OpError::Vault`],
/// [`OpError::Unrecorded`].
pub async fn add(
    ctx: &McpServersContext<'_>,
    request: AddMcpServersRequest,
) -> Result<Vec<String>, OpError> {
    let mut servers = ctx.file.read()?;
    let mut added = Vec::new();
    for server in request.servers {
        if servers.iter().any(|other| other.name == server.name) {
            let name = &server.name;
            return Err(OpError::Conflict(format!("there is a server {name} already")));
        }
        added.push(server.name.to_string());
        servers.push(server);
    }
    ctx.keep_secrets(request.secrets).await?;
    ctx.file.write(&servers)?;
    ctx.put_in_force("mcp.add", &added).await?;
    Ok(added)
}
