//! Shows one MCP server: its connection, its tools, the definitions held for review with the
//! reasons, and its log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::{PendingReview, Remote, ServerConfig};

use super::list::show;
use super::logs::logs;
use super::server::{McpHeldChange, McpServerReply, endpoint_text};
use crate::context::OpContext;

/// Maximum number of bytes that are shown, from the end of a log.
const LOG_BYTES: usize = 64 * 1024;

/// A server with all details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerDetails {
    /// Its state.
    #[serde(flatten)]
    pub row: McpServerReply,
    /// Its program with arguments, or its address.
    pub place: String,
    /// Names of the variables or headers that it gets; their values are omitted.
    pub given: Vec<String>,
    /// Whether its program gets the network that the owner allows for programs.
    pub network: bool,
    /// The names of its tools in Toolcrib.
    pub tool_names: Vec<String>,
    /// Whether a person has reviewed its tools; false also while it is disabled.
    pub reviewed: bool,
    /// Differences from the reviewed definitions, known while it is connected.
    pub reviews: Vec<McpReview>,
    /// The end of its program's standard error.
    pub log: String,
}

/// A tool that differs from its reviewed definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpReview {
    /// Name of the tool on the server.
    pub tool: String,
    /// The kind of the difference.
    pub change: McpHeldChange,
    /// The definitions, line by line: `-` as reviewed, `+` as they are now.
    pub diff: String,
}

/// Shows a configured server, without connecting to it.
pub async fn details(ctx: &OpContext<'_>, config: &ServerConfig) -> McpServerDetails {
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let connection = ctx.toolcrib.mcp().connection(config.name.as_str());
    let (reviews, reviewed) = match &connection {
        Some(connection) => {
            (connection.known_pending_reviews().await, connection.is_reviewed().await)
        }
        None => (Vec::new(), false),
    };
    let review = |held: PendingReview| McpReview {
        tool: secrets.mask(held.tool),
        change: held.change.into(),
        diff: secrets.mask(held.diff),
    };
    let infos = ctx.toolcrib.infos();
    let own = infos.iter().filter(|info| info.source == config.name.as_str());
    let names = |given: &[(String, String)]| given.iter().map(|(name, _)| name.clone()).collect();
    let (given, network) = match &config.remote {
        Remote::Stdio(program) => (names(&program.env), program.network),
        Remote::Http(http) => (names(&http.headers), true),
    };
    let state = ctx.toolcrib.state_folder();
    // If the program has no state folder, use the log that the connection holds.
    let log = logs(&state, &config.name, Some(LOG_BYTES)).unwrap_or_default();
    let log = log.or_else(|| connection.map(|connection| connection.errors()));
    McpServerDetails {
        row: show(ctx, config).await,
        place: secrets.mask(endpoint_text(config)),
        given,
        network,
        tool_names: own.map(|info| info.id.as_str().to_owned()).collect(),
        reviewed,
        reviews: reviews.into_iter().map(review).collect(),
        log: secrets.mask(log.unwrap_or_default()),
    }
}
