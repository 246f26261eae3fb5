//! MCP: the configured servers as tool sources, and Toolcrib as a server for MCP clients.

mod backend;
mod card_page;
mod client_host;
mod failed_start;
mod launcher;
pub mod launcher_args;
mod program_digest;
mod resources_and_prompts;
mod serve;
mod server_program;
mod servers;
mod skill_resources;
mod ui_resources;

pub use backend::ToolcribBackend;
pub use client_host::forget_reviews;
pub(crate) use client_host::{ClientForServer, McpClientHost};
pub use launcher::fetch_again;
pub use resources_and_prompts::{ToolcribResources, mask_contents};
pub use serve::{RandomUnavailable, serve};
pub use servers::McpServers;
pub use toolcrib_mcp::*;
