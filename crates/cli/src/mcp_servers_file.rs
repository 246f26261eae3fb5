//! The file of this user's MCP servers.

use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_ops::mcp_servers::McpServersFile;

use crate::folders::config_folder;
use crate::output::Failure;

/// Returns the file of MCP servers; `None` if there is no configuration folder.
pub(crate) fn mcp_file() -> Option<McpServersFile> {
    Some(McpServersFile { path: config_folder()?.join("mcp.toml") })
}

/// Returns the MCP servers of this person, including disabled ones.
pub(crate) fn mcp_servers() -> Result<Vec<ServerConfig>, Failure> {
    mcp_file().map_or_else(|| Ok(Vec::new()), |file| Ok(file.read()?))
}
