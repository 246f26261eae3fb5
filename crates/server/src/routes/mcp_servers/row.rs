//! How an MCP server stands, without connecting to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::{
    Connection, ConnectionState as Stands, Remote, ServerConfig, ToolChange,
};

use crate::state::DaemonState;

/// A server in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct McpServerRow {
    /// Its name, which its tools begin with.
    pub(super) name: String,
    /// Whether its tools are offered.
    enabled: bool,
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
    /// Tools that differ from what was reviewed, known while it is connected: they cannot be called
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
    /// Switched off.
    Off,
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
pub(super) enum McpHeldChange {
    /// It was not there.
    New,
    /// Its definition, or its server, is another.
    Changed,
    /// It is not there any more.
    Gone,
}

impl From<ToolChange> for McpHeldChange {
    fn from(change: ToolChange) -> Self {
        match change {
            ToolChange::New => Self::New,
            ToolChange::Changed => Self::Changed,
            ToolChange::Gone => Self::Gone,
        }
    }
}

/// A server of the file: how it stands if it is on.
pub(super) async fn row(daemon: &DaemonState, config: &ServerConfig) -> McpServerRow {
    let connection = daemon.toolcrib().mcp().connection(config.name.as_str());
    let connection = connection.filter(|_| config.enabled);
    let masked = |text| daemon.toolcrib().engine().sealing().secrets.mask(text);
    let infos = daemon.toolcrib().infos();
    let (state, server, protocol, last_error) = connection
        .as_ref()
        .map_or((McpServerState::Off, None, None, None), |connection| state(connection, &masked));
    let held = match &connection {
        Some(connection) => connection.known_pending_reviews().await,
        None => Vec::new(),
    };
    let held = held
        .into_iter()
        .map(|held| McpHeldTool { tool: masked(held.tool), change: held.change.into() });
    McpServerRow {
        name: config.name.to_string(),
        enabled: config.enabled,
        transport: match config.remote {
            Remote::Stdio(_) => McpTransport::Stdio,
            Remote::Http(_) => McpTransport::Http,
        },
        trusted: config.trusted,
        state,
        server,
        protocol,
        tools: infos.iter().filter(|info| info.source == config.name.as_str()).count(),
        held: held.collect(),
        last_error,
    }
}

/// State, own name, revision of the protocol, and the error.
fn state(
    connection: &Connection,
    masked: &dyn Fn(String) -> String,
) -> (McpServerState, Option<String>, Option<String>, Option<String>) {
    match connection.state() {
        Stands::Idle => (McpServerState::Idle, None, None, None),
        Stands::Connecting => (McpServerState::Connecting, None, None, None),
        Stands::Connected { server, protocol } => {
            (McpServerState::Connected, Some(masked(server)), Some(protocol), None)
        }
        stands @ Stands::NeedsAuthorization { .. } => {
            (McpServerState::NeedsAuthorization, None, None, Some(stands.to_string()))
        }
        Stands::Error { reason } => (McpServerState::Error, None, None, Some(masked(reason))),
    }
}
