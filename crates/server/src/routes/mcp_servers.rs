//! MCP servers that are switched on: how they stand. They are configured in `mcp.toml`, and looked
//! at without connecting to any.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::{Connection, ConnectionState as Stands, Remote, ToolChange};

use crate::api::{Api, Operation, Page, etag_response};
use crate::role::Role;
use crate::state::DaemonState;

/// A server in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct McpServerRow {
    /// Its name, which its tools begin with.
    name: String,
    /// How it is reached.
    transport: McpTransport,
    /// Whether it is believed where it says that a tool only reads.
    trusted: bool,
    /// How it stands.
    state: McpServerState,
    /// What it calls itself, while it is connected.
    server: Option<String>,
    /// The revision of the protocol that is spoken, while it is connected.
    protocol: Option<String>,
    /// Tools that it has here.
    tools: usize,
    /// Tools that differ from what was reviewed, as far as they were seen: they cannot be called
    /// before `toolcrib mcp review`.
    held: Vec<McpHeldTool>,
    /// Why it cannot be reached, without the values of secrets.
    last_error: Option<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum McpTransport {
    /// A program of this machine, over its input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// How a server stands.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum McpServerState {
    /// Not called yet, or not for a while.
    Idle,
    /// It is being started or asked.
    Connecting,
    /// It answers.
    Connected,
    /// A person has to agree first: `toolcrib mcp auth NAME`.
    NeedsAuthorization,
    /// It cannot be reached.
    Error,
}

/// A tool that waits for a review.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct McpHeldTool {
    /// The name that the server gives it.
    tool: String,
    /// How it differs.
    change: McpHeldChange,
}

/// How a tool differs from what was reviewed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum McpHeldChange {
    /// It was not there.
    New,
    /// Its definition, or its server, is another.
    Changed,
    /// It is not there any more.
    Gone,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/mcp/servers", Role::Viewer, "Lists the MCP servers that are on.")
        .description("None is connected to for this. They are in `mcp.toml` of the configuration (docs/mcp.md).")
        .tag("mcp");
    api.add(list.returns_ok::<Page<McpServerRow>>("All of them.").etagged(), list_servers);
}

async fn list_servers(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    let infos = daemon.toolcrib().infos();
    let mut rows = Vec::new();
    for connection in daemon.toolcrib().mcp().connections() {
        let name = connection.config().name.as_str();
        let tools = infos.iter().filter(|info| info.source == name).count();
        rows.push(row(&daemon, &connection, tools).await);
    }
    etag_response(&headers, &Page::single_page(rows))
}

async fn row(daemon: &DaemonState, connection: &Connection, tools: usize) -> McpServerRow {
    let config = connection.config();
    let masked = |text| daemon.toolcrib().engine().sealing().secrets.mask(text);
    let (state, server, protocol, last_error) = match connection.state() {
        Stands::Idle => (McpServerState::Idle, None, None, None),
        Stands::Connecting => (McpServerState::Connecting, None, None, None),
        Stands::Connected { server, protocol } => {
            (McpServerState::Connected, Some(masked(server)), Some(protocol), None)
        }
        stands @ Stands::NeedsAuthorization { .. } => {
            (McpServerState::NeedsAuthorization, None, None, Some(stands.to_string()))
        }
        Stands::Error { reason } => (McpServerState::Error, None, None, Some(masked(reason))),
    };
    let held = connection.known_pending_reviews().await.into_iter().map(|held| McpHeldTool {
        tool: masked(held.tool),
        change: match held.change {
            ToolChange::New => McpHeldChange::New,
            ToolChange::Changed => McpHeldChange::Changed,
            ToolChange::Gone => McpHeldChange::Gone,
        },
    });
    McpServerRow {
        name: config.name.to_string(),
        transport: match config.remote {
            Remote::Stdio(_) => McpTransport::Stdio,
            Remote::Http(_) => McpTransport::Http,
        },
        trusted: config.trusted,
        state,
        server,
        protocol,
        tools,
        held: held.collect(),
        last_error,
    }
}
