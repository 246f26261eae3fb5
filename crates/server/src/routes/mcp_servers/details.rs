//! One MCP server: its connection, its tools, the definitions held for review with the reasons, and
//! its log.

use std::sync::Arc;

use axum::extract::State;
use toolcrib_app::mcp::client::{Connection, ServerConfig};
use toolcrib_ops::mcp_servers::{self, McpServerDetails, McpServersFile};
use toolcrib_ops::{OpError, Resource};

use crate::api::{Api, Json, Operation, Path};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get("/mcp/servers/{name}", Role::Operator, "Shows an MCP server.");
    let show = show.description("The daemon does not connect to it for this.").tag("mcp");
    api.add(show.returns_ok::<McpServerDetails>("Its state."), show_server);
    let connect = Operation::post(
        "/mcp/servers/{name}/connect",
        Role::Operator,
        "Connects to an MCP server and reads its tools.",
    );
    let connect = connect
        .description(
            "If the server cannot be reached, the response says so: `last_error` has the reason.",
        )
        .tag("mcp");
    api.add(connect.returns_ok::<McpServerDetails>("Its state."), connect_server);
    let accept = Operation::post(
        "/mcp/servers/{name}/accept",
        Role::Operator,
        "Marks the present definitions of an MCP server as reviewed.",
    );
    let accept = accept.description("Its held tools can be called from now on.").tag("mcp");
    api.add(accept.returns_ok::<McpServerDetails>("Its state."), accept_reviews);
}

/// Returns the servers of the file; if the host has no file, the servers that this process uses.
pub(super) fn configured(daemon: &DaemonState) -> Result<Vec<ServerConfig>, Problem> {
    if let Some(files) = daemon.host().mcp_server_files() {
        return Ok(McpServersFile { path: files.servers }.read()?);
    }
    let connections = daemon.toolcrib().mcp().connections();
    Ok(connections.iter().map(|connection| connection.config().clone()).collect())
}

/// The server of the file with this name.
pub(super) fn find(daemon: &DaemonState, name: &str) -> Result<ServerConfig, Problem> {
    let found = configured(daemon)?.into_iter().find(|server| server.name.as_str() == name);
    found.ok_or_else(|| OpError::not_found(Resource::McpServer, name).into())
}

pub(super) async fn details(
    daemon: &DaemonState,
    principal: &Principal,
    config: &ServerConfig,
) -> McpServerDetails {
    mcp_servers::details(&daemon.op_context(principal, None), config).await
}

async fn show_server(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<McpServerDetails>, Problem> {
    let config = find(&daemon, &name)?;
    Ok(Json(details(&daemon, &principal, &config).await))
}

/// Returns the connection of an enabled server.
pub(super) fn connection(
    daemon: &DaemonState,
    config: &ServerConfig,
) -> Result<Arc<Connection>, Problem> {
    let name = config.name.as_str();
    let found = daemon.toolcrib().mcp().connection(name).filter(|_| config.enabled);
    found.ok_or_else(|| Problem::conflict(format!("the MCP server {name} is off; switch it on")))
}

async fn connect_server(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<McpServerDetails>, Problem> {
    let config = find(&daemon, &name)?;
    // The state of the server contains the reason for a failure.
    let _ = mcp_servers::test(&*connection(&daemon, &config)?).await;
    Ok(Json(details(&daemon, &principal, &config).await))
}

async fn accept_reviews(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<McpServerDetails>, Problem> {
    let config = find(&daemon, &name)?;
    let secrets = &daemon.toolcrib().engine().sealing().secrets;
    let accepted = mcp_servers::accept(&*connection(&daemon, &config)?).await;
    accepted.map_err(|error| match error {
        OpError::Unavailable(why) => OpError::Unavailable(secrets.mask(why)),
        error => error,
    })?;
    daemon.admin_audit().record(&principal, "mcp.accept", name.as_str()).await?;
    Ok(Json(details(&daemon, &principal, &config).await))
}
