//! Operations on MCP servers that Toolcrib uses: their list, tests and reviews, logs, and
//! changes of the file `mcp.toml`.

mod add;
mod details;
mod file;
mod import;
mod list;
mod login;
mod logs;
mod remove;
mod review;
mod server;
mod set_enabled;
mod test;

pub use add::{AddMcpServersRequest, AddedMcpServers, add};
pub use details::{McpReview, McpServerDetails, details};
pub use file::McpServersFile;
pub use import::{ImportMcpServersRequest, ImportPlan, ImportedMcpServer, import};
pub use list::{ListMcpServersRequest, list, show};
pub use login::{FinishedLogin, McpLogin, McpLoginState, McpLogins};
pub use logs::logs;
pub use remove::{RemoveMcpServerRequest, RemovedMcpServer, remove};
pub use review::{AcceptedMcpServer, McpServerReview, accept, review};
pub use server::{
    Authorization, McpHeldChange, McpHeldTool, McpServerReply, McpServerState, McpTransport,
    endpoint_text,
};
pub use set_enabled::{SetMcpServerEnabledReply, SetMcpServerEnabledRequest, set_enabled};
pub use test::{OfferedMcpTool, TestedMcpServer, test};
