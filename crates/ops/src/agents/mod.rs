//! Operations on agents.

mod add;
mod agent;
mod agent_file;
mod change_tools;
mod check;
mod context;
mod details;
mod find;
mod key_edit;
mod list;
mod markdown;
mod put;
mod remove;
mod show;
mod tools;

pub use add::{AddAgentRequest, add};
pub use agent::AgentReply;
pub use change_tools::{ChangeAgentToolsRequest, ToolListChange, change_tools};
pub use check::{AgentFaultRow, AgentToolEntry, CheckAgentReply, CheckAgentRequest, check};
pub use context::AgentFiles;
pub use details::{
    AgentDetails, AgentTools, ExcludedTool, ExpandedList, ExpandedListEntry, UnknownListEntry,
    problems_of_agent,
};
pub use list::{ListAgentsReply, list};
pub use put::{AgentFormat, PutAgentReply, PutAgentRequest, put};
pub use remove::{RemoveAgentRequest, RemovedAgent, remove};
pub use show::{ShowAgentRequest, show};
pub use tools::{AgentToolRow, AgentToolsReply, AgentToolsRequest, tools};
