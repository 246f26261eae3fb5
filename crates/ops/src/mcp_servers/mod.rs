//! Operations on MCP servers that Toolcrib uses: their list, tests and reviews, logs, and
//! changes of the file `mcp.toml`.

mod access;
mod add;
mod change;
mod context;
mod details;
mod file;
mod import;
mod list;
mod login;
mod logs;
mod remove;
mod review;
mod server;
mod test;

pub use access::McpServerAccess;
pub use add::{AddMcpServersRequest, add};
pub use change::{ChangeMcpServerRequest, ChangedMcpServer, change};
pub use context::McpServersContext;
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
pub use test::{OfferedMcpTool, TestedMcpServer, test};
