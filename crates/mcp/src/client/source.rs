//! A server as a registry source: offers its reviewed tools without starting the server. The first
//! call starts it.

use std::sync::Arc;

use toolcrib_core::{BoxFuture, Entry, Source, ToolError, remote_name};

use super::connection::Connection;
use super::remote_tool::RemoteTool;
use super::reviewed_tools::{PendingReview, ReviewedTools, ToolChange};
use super::tool_definition;

/// The tools of one server.
pub struct McpSource {
    connection: Arc<Connection>,
}

impl McpSource {
    /// Creates a source of the tools behind this connection.
    #[must_use]
    pub fn new(connection: Arc<Connection>) -> Self {
        Self { connection }
    }

    fn entry(&self, pins: &ReviewedTools, tool: &str) -> Option<Entry> {
        let config = self.connection.config();
        let definition = pins.tools.get(tool)?;
        Some(match tool_definition::spec(config, &pins.identity, definition) {
            Ok(spec) => Entry::Local(Arc::new(RemoteTool {
                spec: Arc::new(spec),
                connection: Arc::clone(&self.connection),
                own_name: tool.to_owned(),
                pinned: pins.hash(tool, config.pin)?,
                requires_task: tool_definition::requires_task(definition),
            })),
            Err(fault) => Entry::broken(tool_definition::canonical_name(config, definition), fault),
        })
    }

    fn held(&self, held: &PendingReview) -> Option<Entry> {
        let server = &self.connection.config().name;
        let why = match held.change {
            ToolChange::New => "it was not reviewed yet",
            ToolChange::Changed => "its definition, or the server, is another than was reviewed",
            ToolChange::Gone => return None,
        };
        let name = remote_name(server.as_str(), &held.tool);
        Some(Entry::broken(name, format!("{why}; see `toolcrib mcp review {server}`")))
    }
}

impl Source for McpSource {
    fn id(&self) -> &str {
        self.connection.config().name.as_str()
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
        Box::pin(async move {
            let name = self.connection.config().name.as_str();
            let reviewed = self.connection.host().reviewed_tools(name).await.unwrap_or_default();
            let held = self.connection.known_pending_reviews().await;
            let same = |tool: &&String| held.iter().all(|held| held.tool != **tool);
            let good = reviewed.tools.keys().filter(same);
            let good = good.filter_map(|tool| self.entry(&reviewed, tool));
            Ok(good.chain(held.iter().filter_map(|held| self.held(held))).collect())
        })
    }
}
