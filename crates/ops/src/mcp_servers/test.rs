//! Connects to an MCP server and shows its tools.

use serde::Serialize;
use serde_json::Value;
use toolcrib_app::mcp::client::{
    Connection, ConnectionState, Finding, PendingReview, ReviewedTools,
};
use toolcrib_core::{ToolError, remote_name};

use crate::error::OpError;

/// A server that responded.
#[derive(Debug, Clone, Serialize)]
pub struct TestedMcpServer {
    /// Its name.
    pub name: String,
    /// State of its connection.
    pub state: ConnectionState,
    /// Its current tools.
    pub tools: Vec<OfferedMcpTool>,
    /// Tools that differ from the reviewed definitions; empty before the first review.
    pub held: Vec<PendingReview>,
    /// Whether its tools were ever reviewed.
    pub reviewed: bool,
    /// The reason why the list of its tools is not complete.
    pub cut: Option<String>,
}

/// A tool as described by the server.
#[derive(Debug, Clone, Serialize)]
pub struct OfferedMcpTool {
    /// Its name in Toolcrib.
    pub id: String,
    /// Its name on the server.
    pub own_name: String,
    /// The server's description.
    pub description: Option<String>,
    /// Its parameters, by name.
    pub parameters: Option<Value>,
    /// Names of parameters that it requires.
    #[serde(skip)]
    pub required: Vec<String>,
    /// Findings for the reviewer.
    pub findings: Vec<Finding>,
}

/// Connects to a server and shows its tools. No definition is accepted.
///
/// # Errors
/// [`OpError::Unavailable`] with the reason if it cannot be used.
pub async fn test(connection: &Connection) -> Result<TestedMcpServer, OpError> {
    let name = connection.config().name.as_str();
    let unusable = |error| unusable(name, error);
    let offered = connection.offered().await.map_err(unusable)?;
    let reviewed = connection.is_reviewed().await;
    let held = match reviewed {
        true => connection.pending_reviews().await.map_err(unusable)?,
        false => Vec::new(),
    };
    Ok(TestedMcpServer {
        name: name.to_owned(),
        state: connection.state(),
        tools: tools(name, &offered),
        held,
        reviewed,
        cut: connection.cut().await,
    })
}

fn tools(server: &str, offered: &ReviewedTools) -> Vec<OfferedMcpTool> {
    let mut findings = offered.findings();
    let all = offered.tools.iter();
    all.map(|(own, definition)| {
        let found = findings.remove(own.as_str()).unwrap_or_default();
        offered_tool(server, own, definition, found)
    })
    .collect()
}

fn offered_tool(
    server: &str,
    own: &str,
    definition: &Value,
    findings: Vec<Finding>,
) -> OfferedMcpTool {
    let required = definition.pointer("/inputSchema/required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    OfferedMcpTool {
        id: remote_name(server, own).as_str().to_owned(),
        own_name: own.to_owned(),
        description: definition.get("description").and_then(Value::as_str).map(str::to_owned),
        parameters: definition.pointer("/inputSchema/properties").cloned(),
        required: names.map(str::to_owned).collect(),
        findings,
    }
}

/// Returns the error of a server that cannot be used; the reason is for the owner.
pub(super) fn unusable(name: &str, error: ToolError) -> OpError {
    let why = error.detail.unwrap_or(error.message);
    OpError::Unavailable(format!("the server {name} cannot be used: {why}"))
}
