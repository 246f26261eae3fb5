//! MCP client: connections to servers, and their tools as registry entries.

mod client_handler;
mod client_host;
mod connect;
mod connection;
mod elicitation;
mod http_transport;
pub mod import_config;
mod inbound;
mod oauth;
mod remote_resource;
mod remote_skill;
mod remote_task;
mod remote_tool;
mod reviewed_tools;
mod running_calls;
mod server_config;
pub mod servers_file;
mod source;
mod stderr_log;
mod tool_definition;
mod tool_recheck;
mod tool_result;

pub use client_host::ClientHost;
pub use connection::{Connection, ConnectionState};
pub use elicitation::{Elicitation, Elicited};
pub use oauth::{AuthError, GrantKind, Login, Oauth, StoredCredentials};
pub use remote_skill::{OfferedFile, OfferedSkill};
pub use reviewed_tools::{PendingReview, ReviewedTools, ToolChange};
pub use server_config::{
    Http, Remote, SECRET_PREFIX, ServerConfig, ServerName, ServerNameError, Stdio,
};
pub use source::McpSource;
pub(crate) use tool_definition::visible_text;
