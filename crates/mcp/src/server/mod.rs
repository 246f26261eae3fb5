//! MCP server: a client sees a view, and each of its calls goes through the pipeline.

mod approval;
mod backend;
mod call_result;
mod http_endpoint;
mod http_fast_path;
mod http_sessions;
mod mcp_server;
mod request_state;
mod resources_and_prompts;
mod skills;
mod tasks;
mod tool_list;

pub use crate::resource_contents::{Contents, PAGE_TYPE, ResourceBody};
pub use backend::{ClientIdentity, LEAN_TOOLS, McpBackend, ToolListMode};
pub use http_endpoint::{HttpSettings, Service, service};
pub use mcp_server::McpServer;
pub use resources_and_prompts::{Message, Prompt, Refusal, Resource, ResourcesAndPrompts, Skill};
pub use skills::SkillFile;
