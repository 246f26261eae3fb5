//! Enables or disables an MCP server.

use serde::Serialize;

use super::file::{McpServersFile, missing};
use crate::error::OpError;

/// The server, and its new state.
#[derive(Debug, Clone)]
pub struct SetMcpServerEnabledRequest {
    /// Its name.
    pub name: String,
    /// Whether to enable it.
    pub enabled: bool,
}

/// The new state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetMcpServerEnabledReply {
    /// Its name.
    pub name: String,
    /// Whether it is enabled.
    pub enabled: bool,
}

/// Enables or disables a server in the file.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Unusable`] for a file that cannot be read,
/// [`OpError::Internal`] for one that cannot be written.
pub fn set_enabled(
    file: &McpServersFile,
    request: SetMcpServerEnabledRequest,
) -> Result<SetMcpServerEnabledReply, OpError> {
    let SetMcpServerEnabledRequest { name, enabled } = request;
    let mut servers = file.read()?;
    let server = servers.iter_mut().find(|server| server.name.as_str() == name);
    server.ok_or_else(|| missing(&name))?.enabled = enabled;
    file.write(&servers)?;
    Ok(SetMcpServerEnabledReply { name, enabled })
}
