//! Removes the file of an agent.

use std::fs;

use serde::Serialize;

use super::agent_file;
use super::context::AgentFiles;
use super::details::unreadable;
use super::find::find;
use crate::administration::Act;
use crate::error::{OpError, Resource};
use crate::expected_version::ExpectedVersion;

/// The agent to remove.
#[derive(Clone)]
pub struct RemoveAgentRequest<'a> {
    /// Its name.
    pub name: String,
    /// The version to remove.
    pub expected: ExpectedVersion<'a>,
}

/// The removed agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedAgent {
    /// Its name.
    pub removed: String,
}

/// Removes the file of an agent from the owner's folder.
///
/// # Errors
/// [`OpError::NotFound`]; [`OpError::Conflict`] if the agent is in another folder or built in;
/// [`OpError::NeedsVersion`] and [`OpError::Stale`] for another version; [`OpError::Internal`],
/// [`OpError::Unrecorded`].
pub async fn remove(
    ctx: &AgentFiles<'_>,
    request: RemoveAgentRequest<'_>,
) -> Result<RemovedAgent, OpError> {
    remove_file(ctx, &request)?;
    (ctx.changed)();
    ctx.recorder.record(Act::new("agent.remove", request.name.as_str())).await?;
    Ok(RemovedAgent { removed: request.name })
}

fn remove_file(ctx: &AgentFiles<'_>, request: &RemoveAgentRequest<'_>) -> Result<(), OpError> {
    let name = request.name.as_str();
    let _alone = agent_file::lock();
    let Some((path, text)) = agent_file::existing(&ctx.folder.path, name)? else {
        let agent = find(ctx, name)?;
        return Err(OpError::Conflict(format!(
            "the agent {name} is not in your own folder ({}) and cannot be removed here",
            agent.location
        )));
    };
    request.expected.check(Resource::Agent, name, Some(&text))?;
    fs::remove_file(&path).map_err(|error| unreadable(&error))
}
