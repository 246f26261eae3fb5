//! Lists agents.

use toolcrib_agent::library::expand_tool_list;

use super::agent::AgentReply;
use super::context::AgentFiles;
use crate::library::{FileProblem, problems_of};

/// The agents, and the faults of broken files.
#[derive(Debug, Clone, PartialEq)]
pub struct ListAgentsReply {
    /// The agents, the General Assistant first.
    pub agents: Vec<AgentReply>,
    /// The number of tools that the list of each agent selects; `None` if it has no list, and
    /// therefore all tools.
    pub tool_counts: Vec<Option<usize>>,
    /// Files of agents that cannot be read, with the reasons.
    pub problems: Vec<FileProblem>,
}

/// Lists the agents.
#[must_use]
pub fn list(ctx: &AgentFiles<'_>) -> ListAgentsReply {
    let names = ctx.library.tool_names();
    let agents = &ctx.library.library.agents;
    let count = |list: &Vec<String>| expand_tool_list(Some(list), &names).tools.len();
    ListAgentsReply {
        agents: agents.iter().map(|agent| AgentReply::new(ctx, agent)).collect(),
        tool_counts: agents.iter().map(|agent| agent.tools.as_ref().map(count)).collect(),
        problems: problems_of(&ctx.library, "agents", &ctx.library.folders.agents),
    }
}
