//! An MCP server in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::{
    Connection, ConnectionState, PendingReview, Remote, ServerConfig, ToolChange,
};

use crate::context::OpContext;

/// A server in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "McpServerRow")]
pub struct McpServerReply {
    /// Its name, the prefix of its tools.
    pub name: String,
    /// Whether its tools are offered.
    pub enabled: bool,
    /// Its transport.
    pub transport: McpTransport,
    /// Whether its statement that a tool only reads is trusted.
    pub trusted: bool,
    /// Its state.
    pub state: McpServerState,
    /// The name that it reports, while it is connected.
    pub server: Option<String>,
    /// The protocol revision in use, while it is connected.
    pub protocol: Option<String>,
    /// Number of its tools in Toolcrib.
    pub tools: usize,
    /// Tools whose definitions differ from the reviewed ones, as far as known: they cannot be
    /// called before `toolcrib mcp review`.
    pub held: Vec<McpHeldTool>,
    /// The reason why it cannot be reached, without the values of secrets.
    pub last_error: Option<String>,
    /// Its command line or its address.
    #[serde(skip)]
    #[schemars(skip)]
    pub endpoint: String,
    /// State of its authorization, if it needs one.
    #[serde(skip)]
    #[schemars(skip)]
    pub authorization: Option<Authorization>,
}

/// The state of the authorization at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Authorization {
    /// A person has to authorize Toolcrib.
    Needed,
    /// Toolcrib is authorized.
    Granted,
}

/// The transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// A local program, over its standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// The state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpServerState {
    /// Disabled.
    Off,
    /// Not called yet, or not for a while.
    Idle,
    /// It is being started or contacted.
    Connecting,
    /// It responds.
    Connected,
    /// A person has to authorize it first: `toolcrib mcp auth NAME`.
    NeedsAuthorization,
    /// It cannot be reached.
    Error,
}

/// A tool that waits for a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpHeldTool {
    /// Name of the tool on the server.
    pub tool: String,
    /// The kind of the difference.
    pub change: McpHeldChange,
}

/// The difference of a tool from its reviewed definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpHeldChange {
    /// The tool is new.
    New,
    /// Its definition, or its server, has changed.
    Changed,
    /// The tool no longer exists.
    Gone,
}

impl McpServerReply {
    /// Creates the row of a configured server; its connection determines the state.
    pub(super) fn new(config: &ServerConfig, tools: usize) -> Self {
        let transport = match config.remote {
            Remote::Stdio(_) => McpTransport::Stdio,
            Remote::Http(_) => McpTransport::Http,
        };
        Self {
            name: config.name.to_string(),
            transport,
            trusted: config.trusted,
            state: if config.enabled { McpServerState::Idle } else { McpServerState::Off },
            server: None,
            protocol: None,
            tools,
            held: Vec::new(),
            last_error: None,
            endpoint: endpoint_text(config),
            enabled: config.enabled,
            authorization: None,
        }
    }

    /// Adds the state of its connection, without connecting.
    pub(super) async fn with_connection(
        mut self,
        ctx: &OpContext<'_>,
        connection: &Connection,
    ) -> Self {
        let masked = |text| ctx.toolcrib.engine().sealing().secrets.mask(text);
        match connection.state() {
            ConnectionState::Idle => {}
            ConnectionState::Connecting => self.state = McpServerState::Connecting,
            ConnectionState::Connected { server, protocol } => {
                self.state = McpServerState::Connected;
                self.server = Some(masked(server));
                self.protocol = Some(protocol);
            }
            state @ ConnectionState::NeedsAuthorization { .. } => {
                self.state = McpServerState::NeedsAuthorization;
                self.last_error = Some(state.to_string());
            }
            ConnectionState::Error { reason } => {
                self.state = McpServerState::Error;
                self.last_error = Some(masked(reason));
            }
        }
        let held = |held: PendingReview| McpHeldTool {
            tool: masked(held.tool),
            change: held.change.into(),
        };
        self.held = connection.known_pending_reviews().await.into_iter().map(held).collect();
        self
    }
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

/// Returns the endpoint of a server in one line: its command line or its address.
#[must_use]
pub fn endpoint_text(config: &ServerConfig) -> String {
    match &config.remote {
        Remote::Stdio(program) => {
            let words = std::iter::once(&program.command).chain(&program.args);
            words.cloned().collect::<Vec<_>>().join(" ")
        }
        Remote::Http(http) => http.url.clone(),
    }
}
