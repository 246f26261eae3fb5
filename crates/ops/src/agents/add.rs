//! Adds an agent, from a template or as a copy of another.

use toolcrib_agent::library::agent_template;

use super::agent_file;
use super::context::AgentFiles;
use super::details::AgentDetails;
use super::find::find;
use super::markdown::to_markdown;
use crate::administration::Act;
use crate::error::{OpError, Resource};
use crate::expected_version::ExpectedVersion;

/// A new agent.
#[derive(Debug, Clone)]
pub struct AddAgentRequest {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// The agent to copy; `None` uses a template.
    pub from: Option<String>,
}

/// Writes the file of a new agent.
///
/// # Errors
/// [`OpError::Invalid`] for a bad name, [`OpError::NotFound`] if there is no agent to copy,
/// [`OpError::Conflict`] if the folder has an agent of this name, [`OpError::Unusable`] if the copy
/// cannot be read, [`OpError::Internal`], [`OpError::Unrecorded`].
pub async fn add(ctx: &AgentFiles<'_>, request: AddAgentRequest) -> Result<AgentDetails, OpError> {
    let AddAgentRequest { name, from } = request;
    let template = agent_template(&name).map_err(OpError::Invalid)?;
    let text = match &from {
        None => template,
        Some(from) => to_markdown(find(ctx, from)?),
    };
    write_new(ctx, &name, &text)?;
    (ctx.changed)();
    ctx.recorder.record(Act::new("agent.add", name.as_str())).await?;
    let now = AgentFiles { library: ctx.library.reloaded(), ..ctx.clone() };
    AgentDetails::new(&now, find(&now, &name)?)
}

fn write_new(ctx: &AgentFiles<'_>, name: &str, text: &str) -> Result<(), OpError> {
    let _alone = agent_file::lock();
    let existing = agent_file::existing(&ctx.folder.path, name)?;
    ExpectedVersion::New.check(
        Resource::Agent,
        name,
        existing.as_ref().map(|(_, text)| text.as_str()),
    )?;
    let path = ctx.folder.path.join(format!("{name}.md"));
    agent_file::write(&ctx.library, &ctx.folder, &path, text, |_| true)
}
