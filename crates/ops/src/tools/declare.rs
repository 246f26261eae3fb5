//! The declarations of tools in a provider's format.

use std::sync::Arc;

use toolcrib_app::{AGENT_SOURCE, Toolcrib};
use toolcrib_core::tool_pattern::{self, ToolIdentity};
use toolcrib_core::{Entry, Exclusion, ToolInfo, ToolName, View, ViewRequest};
use toolcrib_providers::{Declarations, Format, Options, Warning, declare as declare_entries};

use super::find_tool;
use super::why::{find_agent, view_of_agent};
use crate::context::OpContext;
use crate::error::OpError;

/// The tools, and the caller.
#[derive(Debug, Clone)]
pub struct DeclareRequest {
    /// The provider's format.
    pub format: Format,
    /// Whether to request strict mode if a schema supports it.
    pub strict: bool,
    /// Name of an agent; `None` for a caller with its own loop and without a tool list, which is
    /// not offered the tools of Toolcrib's loop unless it lists them.
    pub agent: Option<String>,
    /// The tools: names, aliases, `group:G`, `server:S` or globs with `*`; empty = every offered
    /// tool.
    pub tools: Vec<String>,
}

/// Declares the tools that are offered, or those that the request lists. A tool that the request
/// names is declared even if it is not offered, with a warning that gives the reason: a person who
/// requests the declaration of a tool by its name wants to see it, whether it is enabled or not.
///
/// # Errors
/// [`OpError::NotFound`] for an unknown agent and for an item that matches no tool.
pub fn declare(ctx: &OpContext<'_>, request: &DeclareRequest) -> Result<Declarations, OpError> {
    let mut caller = match &request.agent {
        None => ViewRequest::default(),
        Some(name) => view_of_agent(find_agent(ctx, name)?),
    };
    caller.model.provider = request.format.to_string();
    let view = ctx.toolcrib.catalog().view(&Arc::new(caller));
    let options = Options { strict: request.strict, ..Options::default() };
    if request.tools.is_empty() {
        let loop_only = match request.agent {
            Some(_) => Vec::new(),
            None => tools_of_the_loop(ctx.toolcrib),
        };
        let is_offered = |entry: &&Entry| !loop_only.contains(&entry.spec().name);
        let entries = view.tools.iter().filter(is_offered);
        return Ok(declare_entries(request.format, entries, &options));
    }
    let (entries, warnings) = select(ctx.toolcrib, &view, &request.tools)?;
    let mut declared = declare_entries(request.format, &entries, &options);
    declared.warnings.splice(0..0, warnings);
    Ok(declared)
}

/// Returns the tools that only Toolcrib's agent loop runs, such as `ask_user`. `exec` and single
/// calls refuse them, so they must not be declared to a caller with its own loop.
fn tools_of_the_loop(toolcrib: &Toolcrib) -> Vec<ToolName> {
    let infos = toolcrib.infos().into_iter();
    infos.filter(|info| info.source == AGENT_SOURCE).map(|info| info.id).collect()
}

/// Returns the listed tools in the catalog's order, and a warning for each that is not offered.
fn select(
    toolcrib: &Toolcrib,
    view: &View,
    items: &[String],
) -> Result<(Vec<Entry>, Vec<Warning>), OpError> {
    let known: Vec<(ToolInfo, Entry)> = toolcrib
        .infos()
        .into_iter()
        .filter_map(|info| toolcrib.entry(info.id.as_str()).map(|entry| (info, entry)))
        .collect();
    for item in items {
        if !known.iter().any(|(info, entry)| matches(item, info, entry)) {
            find_tool(toolcrib, item)?;
        }
    }
    let (mut entries, mut warnings) = (Vec::new(), Vec::new());
    for (info, entry) in known {
        let Some(item) = items.iter().find(|item| matches(item, &info, &entry)) else { continue };
        let name = info.id.as_str();
        let excluded = view.excluded.iter().find(|excluded| excluded.name.as_str() == name);
        if let Some(excluded) = excluded {
            if !is_named(item, &entry) {
                continue;
            }
            warnings.push(not_offered(name, &excluded.reason));
        }
        entries.push(entry);
    }
    Ok((entries, warnings))
}

fn matches(item: &str, info: &ToolInfo, entry: &Entry) -> bool {
    let tool = ToolIdentity {
        name: info.id.as_str(),
        aliases: &entry.spec().aliases,
        group: info.group.as_deref(),
        source: &info.source,
    };
    tool_pattern::matches(item, &tool)
}

/// Returns whether the item names this tool, and not a group, a server or a glob that contains it.
fn is_named(item: &str, entry: &Entry) -> bool {
    let spec = entry.spec();
    spec.name.as_str() == item || spec.aliases.iter().any(|alias| alias == item)
}

fn not_offered(tool: &str, reason: &Exclusion) -> Warning {
    Warning {
        tool: tool.to_owned(),
        path: String::new(),
        message: format!("it is not offered: {reason}"),
    }
}
