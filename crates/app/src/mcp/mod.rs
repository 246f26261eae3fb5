//! MCP: the configured servers as tool sources, and Toolcrib as a server for MCP clients.

mod backend;
mod client_host;
mod resources_and_prompts;
mod skill_resources;
mod ui_resources;

use std::sync::{Arc, OnceLock, Weak};

use ring::rand::{SecureRandom as _, SystemRandom};
use toolcrib_core::{Catalog, Source as _};
use toolcrib_mcp::client::{Connection, McpSource};
use toolcrib_mcp::client_channel::ClientChannels;
use toolcrib_mcp::server::{McpBackend, McpServer, ToolListMode};

use crate::toolcrib::Toolcrib;

pub use backend::ToolcribBackend;
pub(crate) use client_host::McpClientHost;
pub use resources_and_prompts::ToolcribResources;
pub use toolcrib_mcp::*;

/// The configured servers, each with one connection.
pub struct McpServers {
    connections: Vec<Arc<Connection>>,
    desk: ClientChannels,
    /// Where sources are attached again; set once it is built.
    catalog: OnceLock<Weak<dyn Catalog>>,
}

impl McpServers {
    pub(crate) fn new(desk: ClientChannels, connections: Vec<Arc<Connection>>) -> Self {
        Self { connections, desk, catalog: OnceLock::new() }
    }

    /// The connections of all enabled servers.
    #[must_use]
    pub fn connections(&self) -> &[Arc<Connection>] {
        &self.connections
    }

    /// The connection of this name.
    #[must_use]
    pub fn connection(&self, name: &str) -> Option<&Arc<Connection>> {
        self.connections.iter().find(|one| one.config().name.as_str() == name)
    }

    /// Calls of MCP clients that are running.
    #[must_use]
    pub fn client_channel(&self) -> &ClientChannels {
        &self.desk
    }

    /// Attaches the tools of all servers. A server that fails does not affect the others.
    pub(crate) async fn attach(&self, catalog: &Arc<dyn Catalog>) {
        let _ = self.catalog.set(Arc::downgrade(catalog));
        for connection in &self.connections {
            let source = McpSource::new(Arc::clone(connection));
            // A source that cannot be attached shows up without tools, with the error in its state.
            let _ = catalog.attach(&source).await;
        }
    }

    /// Attaches the tools of one server again.
    pub(crate) async fn attach_again(&self, server: &str) {
        let catalog = self.catalog.get().and_then(Weak::upgrade);
        if let (Some(connection), Some(catalog)) = (self.connection(server), catalog) {
            let source = McpSource::new(Arc::clone(connection));
            let _ = catalog.attach(&source).await.map_err(|error| (source.id().to_owned(), error));
        }
    }
}

/// Creates the server for MCP clients; `door` must be a backend of this Toolcrib.
#[must_use]
pub fn serve(toolcrib: &Toolcrib, door: Arc<dyn McpBackend>, mode: ToolListMode) -> McpServer {
    let mut key = [0; 32];
    // The key signs request states that clients send back. Without randomness the all-zero key
    // would be forgeable, but `fill` fails only if the system has no random source at all.
    let _ = SystemRandom::new().fill(&mut key);
    McpServer::new(door, toolcrib.mcp().client_channel().clone(), mode, key)
}
