//! The file of this user's MCP servers.

use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_ops::mcp_servers::McpServersFile;

use crate::folders::config_folder;
use crate::output::Failure;

/// The file of MCP servers; `None` = there is no configuration folder.
pub(crate) fn mcp_file() -> Option<McpServersFile> {
    Some(McpServersFile { path: config_folder()?.join("mcp.toml") })
}

/// The MCP servers of this person, those that are off too.
pub(crate) fn mcp_servers() -> Result<Vec<ServerConfig>, Failure> {
    mcp_file().map_or_else(|| Ok(Vec::new()), |file| Ok(file.read()?))
}
