//! Lists every tool, and whether an agent has it.

use serde::Serialize;
use toolcrib_agent::library::{Agent, expand_tool_list};
use toolcrib_core::{Risk, Status, ToolInfo};

use super::context::AgentFiles;
use super::find::find;
use crate::error::OpError;

/// The agent whose tools are listed.
#[derive(Debug, Clone)]
pub struct AgentToolsRequest {
    /// Its name.
    pub name: String,
}

/// All tools, and whether the agent has them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentToolsReply {
    /// The agent.
    pub agent: String,
    /// Its list as written; `None` if it has all tools.
    pub list: Option<Vec<String>>,
    /// The tools.
    pub tools: Vec<AgentToolRow>,
}

/// A tool, and whether an agent has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentToolRow {
    /// The tool.
    pub tool: String,
    /// Whether the list of the agent selects the tool.
    pub has: bool,
    /// Description of the tool.
    pub description: String,
    /// Its group.
    pub group: Option<String>,
    /// Source of the tool.
    pub source: String,
    /// Its risk.
    pub risk: Risk,
    /// The permissions that it needs.
    pub permissions: Vec<String>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether it failed to load.
    #[serde(skip)]
    pub is_broken: bool,
}

/// Lists every tool, and whether the agent has it.
///
/// # Errors
/// [`OpError::NotFound`].
pub fn tools(
    ctx: &AgentFiles<'_>,
    request: &AgentToolsRequest,
) -> Result<AgentToolsReply, OpError> {
    Ok(tools_of(ctx, find(ctx, &request.name)?))
}

pub(super) fn tools_of(ctx: &AgentFiles<'_>, agent: &Agent) -> AgentToolsReply {
    let toolcrib = ctx.library.toolcrib;
    let own = expand_tool_list(agent.tools.as_deref(), &ctx.library.tool_names()).tools;
    let row = |info: ToolInfo| {
        let spec = toolcrib.spec(info.id.as_str())?;
        Some(AgentToolRow {
            has: own.iter().any(|name| name == info.id.as_str()),
            tool: info.id.to_string(),
            description: info.description,
            group: info.group,
            source: info.source,
            risk: spec.risk,
            permissions: spec.permissions.iter().map(ToString::to_string).collect(),
            enabled: info.enabled,
            is_broken: matches!(info.status, Status::Error { .. }),
        })
    };
    AgentToolsReply {
        agent: agent.name.clone(),
        list: agent.tools.clone(),
        tools: toolcrib.infos().into_iter().filter_map(row).collect(),
    }
}
