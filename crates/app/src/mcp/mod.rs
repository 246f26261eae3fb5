//! MCP: the configured servers as tool sources, and Toolcrib as a server for MCP clients.

mod backend;
mod client_host;
mod resources_and_prompts;
mod skill_resources;
mod ui_resources;

use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};
use toolcrib_core::{Catalog, Source as _};
use toolcrib_mcp::client::{ClientHost, Connection, McpSource, ServerConfig};
use toolcrib_mcp::client_channel::ClientChannels;
use toolcrib_mcp::server::{McpBackend, McpServer, ToolListMode};

use crate::toolcrib::Toolcrib;

pub use backend::ToolcribBackend;
pub(crate) use client_host::McpClientHost;
pub use resources_and_prompts::ToolcribResources;
pub use toolcrib_mcp::*;

/// The configured servers, each with one connection.
pub struct McpServers {
    connections: RwLock<Vec<Arc<Connection>>>,
    host: Arc<dyn ClientHost>,
    desk: ClientChannels,
    /// Where sources are attached again; set once it is built.
    catalog: OnceLock<Weak<dyn Catalog>>,
}

impl McpServers {
    /// A connection for each enabled server; none is connected yet.
    pub(crate) fn new(
        desk: ClientChannels,
        host: Arc<dyn ClientHost>,
        servers: &[ServerConfig],
    ) -> Self {
        let on = servers.iter().filter(|server| server.enabled);
        let connections = on.map(|server| Connection::new(server.clone(), Arc::clone(&host)));
        let connections = RwLock::new(connections.collect());
        Self { connections, host, desk, catalog: OnceLock::new() }
    }

    /// The connections of all enabled servers.
    #[must_use]
    pub fn connections(&self) -> Vec<Arc<Connection>> {
        self.connections.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The connection of this name.
    #[must_use]
    pub fn connection(&self, name: &str) -> Option<Arc<Connection>> {
        self.connections().into_iter().find(|one| one.config().name.as_str() == name)
    }

    /// Calls of MCP clients that are running.
    #[must_use]
    pub fn client_channel(&self) -> &ClientChannels {
        &self.desk
    }

    /// Attaches the tools of all servers. A server that fails does not affect the others.
    pub(crate) async fn attach(&self, catalog: &Arc<dyn Catalog>) {
        let _ = self.catalog.set(Arc::downgrade(catalog));
        for connection in self.connections() {
            let source = McpSource::new(connection);
            // A source that cannot be attached shows up without tools, with the error in its state.
            let _ = catalog.attach(&source).await;
        }
    }

    /// Puts changed servers into force: one that is gone, off or different is disconnected and its
    /// tools are unloaded, one that is new or different is attached. Others keep their connection.
    pub(crate) async fn reconfigure(&self, servers: &[ServerConfig]) {
        let before = self.connections();
        let on: Vec<&ServerConfig> = servers.iter().filter(|server| server.enabled).collect();
        let keeps = |server: &ServerConfig| before.iter().find(|one| one.config() == server);
        let now: Vec<Arc<Connection>> = on
            .iter()
            .map(|server| {
                let new = || Connection::new((*server).clone(), Arc::clone(&self.host));
                keeps(server).cloned().unwrap_or_else(new)
            })
            .collect();
        *self.connections.write().unwrap_or_else(PoisonError::into_inner) = now.clone();
        let catalog = self.catalog.get().and_then(Weak::upgrade);
        for gone in before.iter().filter(|one| !now.iter().any(|kept| Arc::ptr_eq(kept, one))) {
            if let Some(catalog) = &catalog {
                catalog.detach(gone.config().name.as_str());
            }
            gone.disconnect().await;
        }
        for new in now.into_iter().filter(|one| !before.iter().any(|old| Arc::ptr_eq(old, one))) {
            if let Some(catalog) = &catalog {
                let _ = catalog.attach(&McpSource::new(new)).await;
            }
        }
    }

    /// Attaches the tools of one server again.
    pub(crate) async fn attach_again(&self, server: &str) {
        let catalog = self.catalog.get().and_then(Weak::upgrade);
        if let (Some(connection), Some(catalog)) = (self.connection(server), catalog) {
            let source = McpSource::new(connection);
            let _ = catalog.attach(&source).await.map_err(|error| (source.id().to_owned(), error));
        }
    }
}

/// The system provides no random bytes for the key of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the system provides no random bytes, so the MCP server cannot sign its request states; check that /dev/urandom can be read, then start it again"
)]
pub struct RandomUnavailable;

/// Creates the server for MCP clients; `backend` belongs to this Toolcrib.
///
/// # Errors
/// [`RandomUnavailable`]: with a key that a client can guess, request states could be forged.
pub fn serve(
    toolcrib: &Toolcrib,
    backend: Arc<dyn McpBackend>,
    mode: ToolListMode,
) -> Result<McpServer, RandomUnavailable> {
    let key = request_state_key(|key| SystemRandom::new().fill(key))?;
    Ok(McpServer::new(backend, toolcrib.mcp().client_channel().clone(), mode, key))
}

/// The key that signs the request states that clients send back.
fn request_state_key(
    fill: impl FnOnce(&mut [u8]) -> Result<(), Unspecified>,
) -> Result<[u8; 32], RandomUnavailable> {
    let mut key = [0; 32];
    fill(&mut key).map_err(|_| RandomUnavailable)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_random_bytes_there_is_no_key() {
        assert_eq!(request_state_key(|_| Err(Unspecified)), Err(RandomUnavailable));
        let filled = request_state_key(|key| {
            key.fill(7);
            Ok(())
        });
        assert_eq!(filled, Ok([7; 32]));
    }
}
