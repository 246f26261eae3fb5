//! Writes the file of an agent.

use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_file;
use super::context::AgentFiles;
use super::details::{AgentDetails, unreadable};
use super::find::find;
use crate::administration::Act;
use crate::error::{OpError, Resource};
use crate::expected_version::ExpectedVersion;

/// An agent file to write.
#[derive(Clone)]
pub struct PutAgentRequest<'a> {
    /// Its name.
    pub name: String,
    /// The complete text of the file.
    pub text: String,
    /// Its format; `None` selects the format of the present file, or Markdown for a new one.
    pub format: Option<AgentFormat>,
    /// The version to replace.
    pub expected: ExpectedVersion<'a>,
}

/// Format of the file of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Form")]
#[serde(rename_all = "snake_case")]
pub enum AgentFormat {
    /// `NAME.md`.
    Markdown,
    /// `NAME.toml`.
    Toml,
}

/// The written file.
#[derive(Debug, Clone, PartialEq)]
pub struct PutAgentReply {
    /// Whether the file is new.
    pub is_new: bool,
    /// The agent.
    pub agent: AgentDetails,
}

/// Writes the file of an agent completely or not at all.
///
/// # Errors
/// [`OpError::Invalid`] for a bad name; [`OpError::Unusable`] if no agent can be read from the
/// text; [`OpError::NeedsVersion`], [`OpError::Conflict`] and [`OpError::Stale`] for another
/// version; [`OpError::Internal`], [`OpError::Unrecorded`].
pub async fn put(
    ctx: &AgentFiles<'_>,
    request: PutAgentRequest<'_>,
) -> Result<PutAgentReply, OpError> {
    let is_new = write(ctx, &request)?;
    (ctx.changed)();
    ctx.recorder.record(Act::new("agent.put", request.name.as_str())).await?;
    let now = AgentFiles { library: ctx.library.reloaded(), ..ctx.clone() };
    Ok(PutAgentReply { is_new, agent: AgentDetails::new(&now, find(&now, &request.name)?)? })
}

/// Writes the file; returns whether it is new.
fn write(ctx: &AgentFiles<'_>, request: &PutAgentRequest<'_>) -> Result<bool, OpError> {
    let PutAgentRequest { name, text, format, expected } = request;
    let _alone = agent_file::lock();
    let known = agent_file::existing(&ctx.folder.path, name)?;
    expected.check(Resource::Agent, name, known.as_ref().map(|(_, text)| text.as_str()))?;
    let path = match (&known, format) {
        (Some((path, _)), None) => path.clone(),
        (_, Some(AgentFormat::Toml)) => ctx.folder.path.join(format!("{name}.toml")),
        (_, Some(AgentFormat::Markdown)) | (None, None) => {
            ctx.folder.path.join(format!("{name}.md"))
        }
    };
    agent_file::write(&ctx.library, &ctx.folder, &path, text, |_| true)?;
    // After a change of the format, the old file would conflict with the new one.
    if let Some((old, _)) = known.as_ref().filter(|(old, _)| *old != path) {
        fs::remove_file(old).map_err(|error| unreadable(&error))?;
    }
    Ok(known.is_none())
}
