//! The configured servers of a running Toolcrib, each with one connection. The owner's changes take
//! effect at once: [`McpServers::apply`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use toolcrib_core::{Catalog, Source as _, canonical_json};
use toolcrib_mcp::client::{ClientHost, Connection, McpSource, ServerConfig};
use toolcrib_mcp::client_channel::ClientChannels;

/// The configured servers, each with one connection.
pub struct McpServers {
    connections: RwLock<Vec<Arc<Connection>>>,
    host: Arc<dyn ClientHost>,
    client_channel: ClientChannels,
    /// The catalog for attaching sources again; set after it is built.
    catalog: OnceLock<Weak<dyn Catalog>>,
    /// Digests of the reviewed definitions that are attached, by server.
    attached: Mutex<BTreeMap<String, Option<String>>>,
    /// Serializes changes.
    applying: tokio::sync::Mutex<()>,
}

impl McpServers {
    pub(crate) fn new(
        client_channel: ClientChannels,
        host: Arc<dyn ClientHost>,
        servers: &[ServerConfig],
    ) -> Self {
        let on = servers.iter().filter(|server| server.enabled);
        let connections = on.map(|server| Connection::new(server.clone(), Arc::clone(&host)));
        Self {
            connections: RwLock::new(connections.collect()),
            host,
            client_channel,
            catalog: OnceLock::new(),
            attached: Mutex::default(),
            applying: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the connections of all enabled servers.
    #[must_use]
    pub fn connections(&self) -> Vec<Arc<Connection>> {
        self.connections.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the connection with this name.
    #[must_use]
    pub fn connection(&self, name: &str) -> Option<Arc<Connection>> {
        let connections = self.connections.read().unwrap_or_else(PoisonError::into_inner);
        connections.iter().find(|one| one.config().name.as_str() == name).cloned()
    }

    /// Returns the channel for running calls of MCP clients.
    #[must_use]
    pub fn client_channel(&self) -> &ClientChannels {
        &self.client_channel
    }

    /// Attaches the tools of all servers. A server that fails does not affect the others.
    pub(crate) async fn attach(&self, catalog: &Arc<dyn Catalog>) {
        let _ = self.catalog.set(Arc::downgrade(catalog));
        for connection in self.connections() {
            self.attach_one(connection).await;
        }
    }

    /// Attaches the tools of one server again.
    pub(crate) async fn attach_again(&self, server: &str) {
        if let Some(connection) = self.connection(server) {
            self.attach_one(connection).await;
        }
    }

    async fn attach_one(&self, connection: Arc<Connection>) {
        let Some(catalog) = self.catalog.get().and_then(Weak::upgrade) else { return };
        let name = connection.config().name.to_string();
        let source = McpSource::new(connection);
        // A source that cannot be attached shows up without tools, with the error in its state.
        let _ = catalog.attach(&source).await.map_err(|error| (source.id().to_owned(), error));
        let digest = self.review_digest(&name).await;
        self.attached.lock().unwrap_or_else(PoisonError::into_inner).insert(name, digest);
    }

    async fn review_digest(&self, server: &str) -> Option<String> {
        let reviewed = self.host.reviewed_tools(server).await?;
        Some(canonical_json::sha256(&serde_json::to_value(reviewed).ok()?))
    }

    /// Applies the owner's servers. A disabled, removed or changed server ends at once, together
    /// with its running calls; definitions that another process has reviewed are attached.
    pub(crate) async fn apply(self: &Arc<Self>, servers: &[ServerConfig]) {
        let _one = self.applying.lock().await;
        let before = self.connections();
        let same =
            |server: &ServerConfig| before.iter().find(|one| one.config() == server).cloned();
        let on = servers.iter().filter(|server| server.enabled);
        let (mut now, mut new) = (Vec::new(), Vec::new());
        for server in on {
            now.push(same(server).unwrap_or_else(|| {
                let connection = Connection::new(server.clone(), Arc::clone(&self.host));
                new.push(Arc::clone(&connection));
                connection
            }));
        }
        now.clone_into(&mut self.connections.write().unwrap_or_else(PoisonError::into_inner));
        let is_kept = |one: &Arc<Connection>| now.iter().any(|kept| Arc::ptr_eq(kept, one));
        for gone in before.iter().filter(|one| !is_kept(one)) {
            let name = gone.config().name.as_str();
            if let Some(catalog) = self.catalog.get().and_then(Weak::upgrade) {
                catalog.detach(name);
            }
            self.attached.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
            gone.retire().await;
        }
        for kept in before.iter().filter(|one| is_kept(one)) {
            self.attach_if_reviewed_anew(kept).await;
        }
        for connection in new {
            // Attaching a server that was never reviewed starts it; do not wait for that here.
            let me = Arc::clone(self);
            tokio::spawn(async move { me.attach_one(connection).await });
        }
    }

    async fn attach_if_reviewed_anew(&self, connection: &Arc<Connection>) {
        let name = connection.config().name.as_str();
        let now = self.review_digest(name).await;
        let is_attached = {
            let attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
            attached.get(name) == Some(&now)
        };
        if !is_attached {
            self.attach_one(Arc::clone(connection)).await;
        }
    }
}
