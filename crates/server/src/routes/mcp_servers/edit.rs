//! Changes one server of the file.

use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::{Remote, ServerConfig};
use toolcrib_ops::mcp_servers::McpServerDetails;

use super::details;
use crate::api::{Api, Json, Operation, Path};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// The changes; absent fields stay as they are.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct McpServerChange {
    /// Whether its tools are offered.
    enabled: Option<bool>,
    /// Whether its statement that a tool only reads is trusted.
    trusted: Option<bool>,
    /// Whether its program gets the network that the owner allows for programs.
    network: Option<bool>,
}

pub(super) fn routes(api: &mut Api) {
    let change = Operation::put("/mcp/servers/{name}", Role::Owner, "Changes an MCP server.");
    let change = change.description("The change takes effect at once: a server that is disabled is disconnected, and its tools are removed.").tag("mcp");
    api.add(
        change.body::<McpServerChange>().returns_ok::<McpServerDetails>("Its state."),
        change_server,
    );
    let remove = Operation::delete("/mcp/servers/{name}", Role::Owner, "Removes an MCP server.");
    let remove = remove
        .description(
            "Its authorization, its secrets, its skills and what was reviewed are removed with it.",
        )
        .tag("mcp");
    api.add(remove.returns_empty(204, "Removed."), remove_server);
}

/// Writes the file and applies it.
pub(super) async fn write(daemon: &DaemonState, servers: Vec<ServerConfig>) -> Result<(), Problem> {
    daemon.host().write_mcp_servers(servers)?;
    daemon.host().reload().await.map(drop)?;
    Ok(())
}

async fn change_server(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Json(change): Json<McpServerChange>,
) -> Result<Json<McpServerDetails>, Problem> {
    let mut servers = details::configured(&daemon)?;
    let found = servers.iter_mut().find(|server| server.name.as_str() == name);
    let server = found.ok_or_else(|| details::unknown(&name))?;
    server.enabled = change.enabled.unwrap_or(server.enabled);
    server.trusted = change.trusted.unwrap_or(server.trusted);
    match &mut server.remote {
        Remote::Stdio(program) => program.network = change.network.unwrap_or(program.network),
        Remote::Http(_) if change.network.is_some() => {
            let words = "a server with an address has the network; `network` is for programs";
            return Err(Problem::invalid(words));
        }
        Remote::Http(_) => {}
    }
    write(&daemon, servers).await?;
    daemon.admin_audit().record(&principal, "mcp.change", name.as_str()).await?;
    let config = details::find(&daemon, &name)?;
    Ok(Json(details::details(&daemon, &principal, &config).await))
}

async fn remove_server(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    details::find(&daemon, &name)?;
    daemon.host().remove_mcp_server(&name).await?;
    daemon.host().reload().await.map(drop)?;
    daemon.admin_audit().record(&principal, "mcp.remove", name.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}
