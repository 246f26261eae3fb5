//! An agent with its prompt and its tools.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_agent::library::{Agent, ExpandedEntry, Expansion, UnknownEntry, expand_tool_list};
use toolcrib_core::Exclusion;

use super::agent::AgentReply;
use super::context::AgentFiles;
use crate::error::OpError;
use crate::library::{FileProblem, problems_of};
use crate::tools::{exclusions, view_of_agent};

/// An agent with all details.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentDetails {
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentReply,
    /// Its part of the system prompt.
    pub prompt: String,
    /// The text of its file; `null` for a built-in agent.
    pub text: Option<String>,
    /// The tools that its list selects.
    #[serde(flatten)]
    pub tools: AgentTools,
    /// Faults in files with its name: an agent in another folder is easily confused with this one.
    #[serde(skip)]
    #[schemars(skip)]
    pub problems: Vec<FileProblem>,
}

/// The tools that the list of an agent selects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentTools {
    /// The selected tools.
    pub resolved: Vec<String>,
    /// The selected tools that the agent is offered now.
    pub offered: Vec<String>,
    /// The other selected tools, with the reasons.
    pub excluded: Vec<ExcludedTool>,
    /// The list, entry by entry.
    pub expansion: ExpandedList,
    /// Every tool that the agent is not offered, whether its list selects it or not, with the
    /// reason.
    #[serde(skip)]
    #[schemars(skip)]
    pub exclusions: Vec<(String, Exclusion)>,
}

/// A list of tools, entry by entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpandedList {
    /// The selected tools.
    pub tools: Vec<String>,
    /// The entries that name tools.
    pub entries: Vec<ExpandedListEntry>,
    /// The entries that name no tool.
    pub unknown: Vec<UnknownListEntry>,
}

/// An entry of a list, with the tools that it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpandedListEntry {
    /// The entry.
    pub entry: String,
    /// The tools, by their canonical names.
    pub tools: Vec<String>,
}

/// An entry of a list that names no tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownListEntry {
    /// The entry.
    pub entry: String,
    /// Similar names, the most similar first.
    pub near: Vec<String>,
}

impl From<Expansion> for ExpandedList {
    fn from(expansion: Expansion) -> Self {
        let Expansion { tools, entries, unknown } = expansion;
        let entry = |one: ExpandedEntry| ExpandedListEntry { entry: one.entry, tools: one.tools };
        let unknown_entry =
            |one: UnknownEntry| UnknownListEntry { entry: one.entry, near: one.near };
        Self {
            tools,
            entries: entries.into_iter().map(entry).collect(),
            unknown: unknown.into_iter().map(unknown_entry).collect(),
        }
    }
}

/// A tool that an agent is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExcludedTool {
    /// The tool.
    pub tool: String,
    /// The reason: `because` is one word, followed by its details.
    #[schemars(with = "Value")]
    pub excluded: Exclusion,
    /// The reason in words.
    pub reason: String,
}

impl AgentDetails {
    pub(super) fn new(ctx: &AgentFiles<'_>, agent: &Agent) -> Result<Self, OpError> {
        let path = agent.location.path();
        let text = path.map(|path| fs::read_to_string(path).map_err(|error| unreadable(&error)));
        Ok(Self {
            agent: AgentReply::new(ctx, agent),
            prompt: agent.prompt.clone(),
            text: text.transpose()?,
            tools: AgentTools::new(ctx, agent),
            problems: problems_of_agent(ctx, &agent.name),
        })
    }
}

impl AgentTools {
    pub(super) fn new(ctx: &AgentFiles<'_>, agent: &Agent) -> Self {
        let toolcrib = ctx.library.toolcrib;
        let expansion = expand_tool_list(agent.tools.as_deref(), &ctx.library.tool_names());
        let resolved = expansion.tools.clone();
        let request = view_of_agent(agent);
        let exclusions = exclusions(toolcrib, &request);
        let is_excluded = |tool: &str| exclusions.iter().any(|(other, _)| other == tool);
        let view = toolcrib.catalog().view(&Arc::new(request));
        let offered = view.tools.iter().map(|entry| entry.spec().name.to_string());
        let offered = offered.filter(|tool| !is_excluded(tool)).collect();
        let excluded = exclusions
            .iter()
            .filter(|(tool, _)| resolved.contains(tool))
            .map(|(tool, why)| ExcludedTool {
                tool: tool.clone(),
                excluded: why.clone(),
                reason: why.to_string(),
            })
            .collect();
        Self { resolved, offered, excluded, expansion: expansion.into(), exclusions }
    }
}

/// Returns the faults of files of agents with this name.
#[must_use]
pub fn problems_of_agent(ctx: &AgentFiles<'_>, name: &str) -> Vec<FileProblem> {
    let mut problems = problems_of(&ctx.library, "agents", &ctx.library.folders.agents);
    problems
        .retain(|problem| Path::new(&problem.path).file_stem().is_some_and(|stem| stem == name));
    problems
}

pub(super) fn unreadable(error: &std::io::Error) -> OpError {
    OpError::Internal(format!("the file of the agent cannot be used: {error}"))
}
