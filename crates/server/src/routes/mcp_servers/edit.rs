//! Changes one server of the file.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::OpError;
use toolcrib_ops::mcp_servers::{
    self, ChangeMcpServerRequest, McpServerDetails, McpServersContext, McpServersFile,
    RemoveMcpServerRequest,
};

use super::details;
use crate::api::{Api, Json, Operation, Path};
use crate::daemon_host::HostConfiguration;
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::routes::secrets;
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

/// The file of servers, and what follows a change of it.
pub(super) fn context<'a>(
    daemon: &'a DaemonState,
    principal: &'a Principal,
    configuration: &'a HostConfiguration<'a>,
) -> Result<McpServersContext<'a>, OpError> {
    let files = daemon.host().mcp_server_files();
    let file = files.map(|files| McpServersFile { path: files.servers });
    let no_file = || OpError::Internal("this program keeps no MCP servers".to_owned());
    Ok(McpServersContext {
        file: file.ok_or_else(no_file)?,
        vault: daemon.toolcrib().vault().ok_or_else(secrets::no_vault),
        masked: Some(&daemon.toolcrib().engine().sealing().secrets),
        recorder: daemon.recorder(principal),
        configuration: Some(configuration),
    })
}

async fn change_server(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Json(change): Json<McpServerChange>,
) -> Result<Json<McpServerDetails>, Problem> {
    let McpServerChange { enabled, trusted, network } = change;
    let request = ChangeMcpServerRequest { name, enabled, trusted, network, ..Default::default() };
    let configuration = HostConfiguration(daemon.host());
    let ctx = context(&daemon, &principal, &configuration)?;
    let config = mcp_servers::change(&ctx, request).await?.config;
    Ok(Json(details::details(&daemon, &principal, &config).await))
}

async fn remove_server(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let folder = daemon.host().mcp_server_files().map(|files| files.skills);
    let skills = folder.unwrap_or_default().join(&name);
    let facts = Arc::clone(&daemon.stores().facts);
    let configuration = HostConfiguration(daemon.host());
    let ctx = context(&daemon, &principal, &configuration)?;
    mcp_servers::remove(&ctx, facts, RemoveMcpServerRequest { name, skills }).await?;
    Ok(StatusCode::NO_CONTENT)
}
