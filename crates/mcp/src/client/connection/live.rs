//! A live connection: the service that communicates with the server, the server's process, and its
//! current tools.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use rmcp::service::{Peer, RoleClient, RunningService};
use toolcrib_core::{ErrorType, ToolError};
use toolcrib_sandbox::Process;

use super::super::ServerConfig;
use super::super::client_handler::McpClientHandler;
use super::super::reviewed_tools::ReviewedTools;

/// A live connection. Dropping it ends the server's program.
pub(crate) struct LiveConnection {
    pub(crate) service: RunningService<RoleClient, McpClientHandler>,
    /// The current tool definitions of the server.
    pub(crate) now: RwLock<ReviewedTools>,
    pub(crate) server: String,
    pub(crate) protocol: String,
    pub(crate) since: Instant,
    pub(crate) used: Mutex<Instant>,
    /// Whether the server is not reviewed yet; it then sees no workspace.
    pub(crate) is_first_sight: bool,
    /// Why its list of tools is incomplete.
    pub(crate) cut: Mutex<Option<String>>,
    /// Its process with all children.
    pub(crate) process: Option<Mutex<Process>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveConnection {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn is_gone(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// Ends the connection immediately, including running calls.
    pub(super) fn end(&self) {
        self.service.cancellation_token().cancel();
        if let Some(killer) = self.process.as_ref().and_then(|process| lock(process).killer()) {
            killer.kill();
        }
    }

    pub(crate) fn advertised(&self) -> ReviewedTools {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the isolation level of its program.
    pub(crate) fn sandbox(&self) -> Option<&'static str> {
        self.process.as_ref().map(|process| lock(process).level.as_str())
    }

    pub(crate) fn set_cut(&self, cut: Option<String>) {
        *lock(&self.cut) = cut;
    }

    pub(crate) fn set_advertised(&self, now: ReviewedTools) {
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Fails if the tool's definition differs from the reviewed one.
    pub(crate) fn check(
        &self,
        config: &ServerConfig,
        tool: &str,
        pinned: &str,
    ) -> Result<(), ToolError> {
        let server = &config.name;
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner).hash(tool, config.pin);
        let text = match now {
            Some(now) if now == pinned => return Ok(()),
            Some(_) => format!(
                "The server {server} has changed the definition of {tool} since it was reviewed, so it is held. Do not retry it; the owner can look at the change with `toolcrib mcp review {server}`."
            ),
            None => format!(
                "The server {server} does not offer {tool} any more. Do not retry it; use another tool, or tell the user."
            ),
        };
        Err(ToolError::new(ErrorType::ToolNotAvailable, text))
    }
}
