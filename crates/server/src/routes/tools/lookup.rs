//! Finds a tool with its state.

use toolcrib_core::ToolInfo;
use toolcrib_ops::tools::find_tool;
use toolcrib_ops::{OpError, Resource};

use crate::problem::Problem;
use crate::state::DaemonState;

/// A tool, under any of its names.
pub(super) fn info(daemon: &DaemonState, name: &str) -> Result<ToolInfo, Problem> {
    let spec = find_tool(daemon.toolcrib(), name)?;
    let found = daemon.toolcrib().infos().into_iter().find(|info| info.id == spec.name);
    found.ok_or_else(|| OpError::not_found(Resource::Tool, name).into())
}
