//! Removes an MCP server.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::Serialize;
use toolcrib_app::mcp::client::ServerName;
use toolcrib_app::oauth_secret_name;
use toolcrib_app::store::vault::Vault;

use super::file::{McpServersFile, missing};
use crate::error::OpError;

/// Which server, and where what belongs to it is.
#[derive(Debug, Clone)]
pub struct RemoveMcpServerRequest {
    /// Its name.
    pub name: String,
    /// The vault, which has its authorization.
    pub vault: Vault,
    /// The folder of its skills.
    pub skills: PathBuf,
}

/// A server was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedMcpServer {
    /// Its name.
    pub removed: String,
}

/// Removes a server from the file, with its authorization and its skills: what a person agreed to
/// for this server is not for a later one of the same name.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Unusable`] for a file that cannot be read, [`OpError::Vault`],
/// [`OpError::Internal`].
pub fn remove(
    file: &McpServersFile,
    request: RemoveMcpServerRequest,
) -> Result<RemovedMcpServer, OpError> {
    let RemoveMcpServerRequest { name, vault, skills } = request;
    let mut servers = file.read()?;
    let before = servers.len();
    servers.retain(|server| server.name.as_str() != name);
    if servers.len() == before {
        return Err(missing(&name));
    }
    file.write(&servers)?;
    if let Some(secret) = ServerName::new(&name).ok().as_ref().and_then(oauth_secret_name) {
        vault.remove(&secret)?;
    }
    match fs::remove_dir_all(&skills) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let path = skills.display();
            Err(OpError::Internal(format!("{path} cannot be removed: {error}")))
        }
        _ => Ok(RemovedMcpServer { removed: name }),
    }
}
