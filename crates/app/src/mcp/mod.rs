//! MCP: the servers of the settings as sources, and our door for clients.

mod door;
mod host;
mod pages;
mod shelf;
mod skills;

use std::sync::{Arc, OnceLock, Weak};

use ring::rand::{SecureRandom as _, SystemRandom};
use toolcrib_core::{Catalog, Source as _};
use toolcrib_mcp::client::{Connection, McpSource};
use toolcrib_mcp::desk::Desk;
use toolcrib_mcp::server::{Door, Mode, Serve};

use crate::toolcrib::Toolcrib;

pub use door::ToolcribDoor;
pub(crate) use host::McpHost;
pub use shelf::Shelves;
pub use toolcrib_mcp::*;

/// The servers of the settings, each with its one connection.
pub struct McpServers {
    connections: Vec<Arc<Connection>>,
    desk: Desk,
    /// Where sources are attached again; known once it is built.
    catalog: OnceLock<Weak<dyn Catalog>>,
}

impl McpServers {
    pub(crate) fn new(desk: Desk, connections: Vec<Arc<Connection>>) -> Self {
        Self { connections, desk, catalog: OnceLock::new() }
    }

    /// Those that are on; the others are not connected to.
    #[must_use]
    pub fn connections(&self) -> &[Arc<Connection>] {
        &self.connections
    }

    /// The one of this name.
    #[must_use]
    pub fn connection(&self, name: &str) -> Option<&Arc<Connection>> {
        self.connections.iter().find(|one| one.config().name.as_str() == name)
    }

    /// The calls of our own clients that are at work.
    #[must_use]
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Offers the tools of all of them. One that cannot be used hinders no other.
    pub(crate) async fn attach(&self, catalog: &Arc<dyn Catalog>) {
        let _ = self.catalog.set(Arc::downgrade(catalog));
        for connection in &self.connections {
            let source = McpSource::new(Arc::clone(connection));
            // What cannot be attached shows up as a source without tools, and in its state.
            let _ = catalog.attach(&source).await;
        }
    }

    /// Offers the tools of one of them again.
    pub(crate) async fn attach_again(&self, server: &str) {
        let catalog = self.catalog.get().and_then(Weak::upgrade);
        if let (Some(connection), Some(catalog)) = (self.connection(server), catalog) {
            let source = McpSource::new(Arc::clone(connection));
            let _ = catalog.attach(&source).await.map_err(|error| (source.id().to_owned(), error));
        }
    }
}

/// Our door as a server for MCP clients: `door` is one of this Toolcrib.
#[must_use]
pub fn serve(toolcrib: &Toolcrib, door: Arc<dyn Door>, mode: Mode) -> Serve {
    let mut key = [0; 32];
    // Without randomness nobody can come back with an answer, and nobody can forge one either.
    let _ = SystemRandom::new().fill(&mut key);
    Serve::new(door, toolcrib.mcp().desk().clone(), mode, key)
}
