//! Shows an agent.

use super::context::AgentFiles;
use super::details::AgentDetails;
use super::find::find;
use crate::error::OpError;

/// The agent to show.
#[derive(Debug, Clone)]
pub struct ShowAgentRequest {
    /// Its name.
    pub name: String,
}

/// Shows an agent with its prompt and the tools that its list selects.
///
/// # Errors
/// [`OpError::NotFound`]; [`OpError::Internal`] if its file cannot be read.
pub fn show(ctx: &AgentFiles<'_>, request: &ShowAgentRequest) -> Result<AgentDetails, OpError> {
    AgentDetails::new(ctx, find(ctx, &request.name)?)
}
