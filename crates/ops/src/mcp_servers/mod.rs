//! Operations on MCP servers that Toolcrib uses: their list, and changes of the file `mcp.toml`.

mod add;
mod file;
mod list;
mod login;
mod remove;
mod server;
mod set_enabled;

pub use add::{AddMcpServersRequest, AddedMcpServers, add};
pub use file::McpServersFile;
pub use list::{ListMcpServersRequest, list, show};
pub use login::{FinishedLogin, McpLogin, McpLoginState, McpLogins};
pub use remove::{RemoveMcpServerRequest, RemovedMcpServer, remove};
pub use server::{
    Authorization, McpHeldChange, McpHeldTool, McpServerReply, McpServerState, McpTransport,
    endpoint_text,
};
pub use set_enabled::{SetMcpServerEnabledReply, SetMcpServerEnabledRequest, set_enabled};
