//! Reviews an MCP server: what differs from what was accepted, and accepting it.

use serde::Serialize;
use toolcrib_app::mcp::client::{Connection, PendingReview};

use super::test::unusable;
use crate::error::OpError;

/// What of a server differs from what was reviewed.
#[derive(Debug, Clone, Serialize)]
pub struct McpServerReview {
    /// Its name.
    pub name: String,
    /// Tools that differ: they are held.
    pub held: Vec<PendingReview>,
    /// How its version or the files of its program differ.
    pub program_change: Option<String>,
}

/// The definitions of a server were accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AcceptedMcpServer {
    /// Its name.
    pub name: String,
    /// The number of its tools.
    pub tools: usize,
}

/// Shows what differs; connects first.
///
/// # Errors
/// [`OpError::Unavailable`] with the reason if the server cannot be used.
pub async fn review(connection: &Connection) -> Result<McpServerReview, OpError> {
    let name = connection.config().name.as_str();
    let unusable = |error| unusable(name, error);
    let held = connection.pending_reviews().await.map_err(unusable)?;
    let program_change = connection.program_change().await.map_err(unusable)?;
    Ok(McpServerReview { name: name.to_owned(), held, program_change })
}

/// Counts the present definitions as reviewed; connects first. The caller has asked the owner.
///
/// # Errors
/// [`OpError::Unavailable`] with the reason if the server cannot be used or the review cannot be
/// stored.
pub async fn accept(connection: &Connection) -> Result<AcceptedMcpServer, OpError> {
    let name = connection.config().name.as_str();
    let tools = connection.accept_reviews().await.map_err(|error| unusable(name, error))?;
    Ok(AcceptedMcpServer { name: name.to_owned(), tools })
}
