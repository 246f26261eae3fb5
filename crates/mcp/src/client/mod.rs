//! MCP client: connections to servers, and their tools as registry entries.

mod client_handler;
mod client_host;
mod connect;
mod connection;
mod definition_judgement;
mod elicitation;
mod http_transport;
pub mod import_config;
mod inbound;
mod judgement_phrases;
mod legacy_task;
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
mod start_output;
mod stderr_log;
mod tool_definition;
mod tool_list;
mod tool_recheck;
mod tool_result;

pub use client_host::{CallWatch, ClientHost};
pub use connection::{Connection, ConnectionState};
pub use definition_judgement::{Finding, FindingKind, judge};
pub use elicitation::{Elicitation, Elicited};
pub use oauth::{AuthError, GrantKind, Login, Oauth, StoredCredentials};
pub use remote_skill::{OfferedFile, OfferedSkill};
pub use reviewed_tools::{PendingReview, ReviewedTools, ToolChange};
pub use server_config::{
    Http, Launcher, LauncherKind, Pin, Remote, SECRET_PREFIX, ServerConfig, ServerName,
    ServerNameError, Stdio, WorkspaceAccess,
};
pub use source::McpSource;
pub use start_output::first_error;
pub use tool_definition::{bounded_spec, visible_text};
