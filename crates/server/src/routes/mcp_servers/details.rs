//! One MCP server: how it is reached, its tools, what is held for review and why, its log.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::{Connection, PendingReview, Remote, ServerConfig};
use toolcrib_ops::OpError;
use toolcrib_ops::mcp_servers::{self, McpHeldChange, McpServerReply, endpoint_text};

use crate::api::{Api, Json, Operation, Path};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Bytes at the end of a log that are shown.
const LOG_BYTES: usize = 64 * 1024;

/// A server, whole.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct McpServerDetails {
    /// Its state.
    #[serde(flatten)]
    row: McpServerReply,
    /// Its program with arguments, or its address.
    place: String,
    /// Names of the variables or headers that it gets; their values are not shown.
    given: Vec<String>,
    /// Whether its program gets the network that the owner allows for programs.
    network: bool,
    /// The names of its tools here.
    tool_names: Vec<String>,
    /// Differences from the reviewed definitions, known while it is connected.
    reviews: Vec<McpReview>,
    /// The end of what its program wrote to its standard error.
    log: String,
}

/// A tool that differs from its reviewed definition.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct McpReview {
    /// The name that the server gives it.
    tool: String,
    /// How it differs.
    change: McpHeldChange,
    /// The definitions, line by line: `-` as reviewed, `+` as it is now.
    diff: String,
}

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get("/mcp/servers/{name}", Role::Operator, "Shows an MCP server.");
    let show = show.description("The daemon does not connect to it for this.").tag("mcp");
    api.add(show.returns_ok::<McpServerDetails>("The state of the kill switch."), show_server);
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
    api.add(
        connect.returns_ok::<McpServerDetails>("The state of the kill switch."),
        connect_server,
    );
    let accept = Operation::post(
        "/mcp/servers/{name}/accept",
        Role::Operator,
        "Marks the present definitions of an MCP server as reviewed.",
    );
    let accept = accept.description("Its held tools can be called from now on.").tag("mcp");
    api.add(accept.returns_ok::<McpServerDetails>("The state of the kill switch."), accept_reviews);
}

/// The servers of the file; those that this process uses, if its program keeps no file.
pub(super) fn configured(daemon: &DaemonState) -> Result<Vec<ServerConfig>, Problem> {
    let kept = daemon.host().mcp_servers()?;
    if !kept.is_empty() {
        return Ok(kept);
    }
    let connections = daemon.toolcrib().mcp().connections();
    Ok(connections.iter().map(|connection| connection.config().clone()).collect())
}

pub(super) fn unknown(name: &str) -> Problem {
    Problem::not_found(format!("there is no MCP server {name}; GET /mcp/servers lists them"))
}

/// The server of the file with this name.
pub(super) fn find(daemon: &DaemonState, name: &str) -> Result<ServerConfig, Problem> {
    let found = configured(daemon)?.into_iter().find(|server| server.name.as_str() == name);
    found.ok_or_else(|| unknown(name))
}

pub(super) async fn details(
    daemon: &DaemonState,
    principal: &Principal,
    config: &ServerConfig,
) -> McpServerDetails {
    let secrets = &daemon.toolcrib().engine().sealing().secrets;
    let connection = daemon.toolcrib().mcp().connection(config.name.as_str());
    let reviews = match &connection {
        Some(connection) => connection.known_pending_reviews().await,
        None => Vec::new(),
    };
    let review = |held: PendingReview| McpReview {
        tool: secrets.mask(held.tool),
        change: held.change.into(),
        diff: secrets.mask(held.diff),
    };
    let infos = daemon.toolcrib().infos();
    let own = infos.iter().filter(|info| info.source == config.name.as_str());
    let names = |given: &[(String, String)]| given.iter().map(|(name, _)| name.clone()).collect();
    let (given, network) = match &config.remote {
        Remote::Stdio(program) => (names(&program.env), program.network),
        Remote::Http(http) => (names(&http.headers), true),
    };
    let state = daemon.toolcrib().state_folder();
    // A program that keeps no state has what the connection remembers.
    let log = mcp_servers::logs(&state, &config.name, Some(LOG_BYTES)).unwrap_or_default();
    let log = log.or_else(|| connection.map(|connection| connection.errors()));
    McpServerDetails {
        row: mcp_servers::show(&daemon.op_context(principal, None), config).await,
        place: secrets.mask(endpoint_text(config)),
        given,
        network,
        tool_names: own.map(|info| info.id.as_str().to_owned()).collect(),
        reviews: reviews.into_iter().map(review).collect(),
        log: secrets.mask(log.unwrap_or_default()),
    }
}

async fn show_server(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<McpServerDetails>, Problem> {
    let config = find(&daemon, &name)?;
    Ok(Json(details(&daemon, &principal, &config).await))
}

/// The connection of a server that is on.
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
    // Why it failed is in its state.
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
