//! Reviews an MCP server: shows the differences from the accepted definitions, and accepts them.

use serde::Serialize;
use toolcrib_app::mcp::client::{Connection, PendingReview};

use super::test::unusable;
use crate::error::OpError;

/// The differences of a server from its reviewed definitions.
#[derive(Debug, Clone, Serialize)]
pub struct McpServerReview {
    /// Its name.
    pub name: String,
    /// Tools that differ and are therefore held.
    pub held: Vec<PendingReview>,
    /// The difference in its version or in the files of its program.
    pub program_change: Option<String>,
}

/// A server whose definitions were accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AcceptedMcpServer {
    /// Its name.
    pub name: String,
    /// The number of its tools.
    pub tools: usize,
}

/// Connects to the server and shows the differences.
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

/// Connects to the server and marks the current definitions as reviewed. The caller must have asked
/// the owner.
///
/// # Errors
/// [`OpError::Unavailable`] with the reason if the server cannot be used or the review cannot be
/// stored.
pub async fn accept(connection: &Connection) -> Result<AcceptedMcpServer, OpError> {
    let name = connection.config().name.as_str();
    let tools = connection.accept_reviews().await.map_err(|error| unusable(name, error))?;
    Ok(AcceptedMcpServer { name: name.to_owned(), tools })
}
