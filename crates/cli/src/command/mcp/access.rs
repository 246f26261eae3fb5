//! The options of `mcp add` and `mcp set` for the access of a server.

use std::path::PathBuf;
use std::time::Duration;

use toolcrib_app::mcp::client::{Pin, WorkspaceAccess};
use toolcrib_ops::mcp_servers::McpServerAccess;

use crate::clap_args::{McpAccess, McpPin, McpWorkspace};
use crate::output::Failure;

/// The changes that these options are.
pub(super) fn from_args(access: &McpAccess) -> Result<McpServerAccess, Failure> {
    Ok(McpServerAccess {
        timeout: access.timeout.map(Duration::from_secs),
        pin: access.pin.map(|pin| match pin {
            McpPin::Definition => Pin::Definition,
            McpPin::Program => Pin::Program,
        }),
        trust_results: access.trust_results.clone(),
        workspace: access.workspace_access.map(|access| match access {
            McpWorkspace::None => WorkspaceAccess::None,
            McpWorkspace::Read => WorkspaceAccess::Read,
            McpWorkspace::Write => WorkspaceAccess::Write,
        }),
        memory_mb: access.memory,
        read: absolute(&access.read)?,
        write: absolute(&access.write)?,
        allow_hosts: access.allow_host.clone(),
    })
}

/// Returns the paths in absolute form: a server starts in another current folder.
fn absolute(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let whole = |path: &PathBuf| {
        path.canonicalize()
            .map_err(|error| Failure::usage(format!("{} cannot be given: {error}", path.display())))
    };
    paths.iter().map(whole).collect()
}
