//! Finds an agent by its name.

use toolcrib_agent::library::Agent;

use super::context::AgentFiles;
use crate::error::{OpError, Resource};

/// Returns the agent with this name.
///
/// # Errors
/// [`OpError::NotFound`].
pub(super) fn find<'a>(ctx: &'a AgentFiles<'_>, name: &str) -> Result<&'a Agent, OpError> {
    ctx.library.library.agent(name).map_err(|unknown| OpError::NotFound {
        what: Resource::Agent,
        name: name.to_owned(),
        near: unknown.near,
    })
}
