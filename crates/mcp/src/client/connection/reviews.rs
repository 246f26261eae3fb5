//! Compares a server's tools with the reviewed ones.

use toolcrib_core::ToolError;

use super::super::reviewed_tools::{PendingReview, ReviewedTools};
use super::server_connection::Connection;
use super::state::ConnectionState;

impl Connection {
    /// Returns the differences from the reviewed definitions. Connects first.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn pending_reviews(&self) -> Result<Vec<PendingReview>, ToolError> {
        let now = self.live().await?.advertised();
        let reviewed =
            self.host.reviewed_tools(self.config.name.as_str()).await.unwrap_or_default();
        Ok(reviewed.pending_reviews(&now, self.config.pin))
    }

    /// Returns the current tools of the server; connects first.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn offered(&self) -> Result<ReviewedTools, ToolError> {
        Ok(self.live().await?.advertised())
    }

    /// Returns whether its tools were reviewed once.
    pub async fn is_reviewed(&self) -> bool {
        self.host.reviewed_tools(self.config.name.as_str()).await.is_some()
    }

    /// Describes how the version or the program of the server differs from the reviewed one;
    /// connects first.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn program_change(&self) -> Result<Option<String>, ToolError> {
        let now = self.live().await?.advertised();
        let reviewed = self.host.reviewed_tools(self.config.name.as_str()).await;
        Ok(reviewed.and_then(|reviewed| reviewed.program_change(&now)))
    }

    /// Returns the differences that are known without connecting: those of a connected server,
    /// otherwise the differences seen last.
    pub async fn known_pending_reviews(&self) -> Vec<PendingReview> {
        let name = self.config.name.as_str();
        let live = self.slot.try_lock().ok().and_then(|slot| slot.live.clone());
        let seen = match live.filter(|live| !live.is_gone()) {
            Some(live) => Some(live.advertised()),
            None => self.host.seen_tools(name).await,
        };
        let Some(seen) = seen else { return Vec::new() };
        let reviewed = self.host.reviewed_tools(name).await.unwrap_or_default();
        reviewed.pending_reviews(&seen, self.config.pin)
    }

    /// Accepts the current definitions as reviewed; connects first. Returns the number of tools.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and when the review cannot be stored.
    pub async fn accept_reviews(&self) -> Result<usize, ToolError> {
        let live = self.live().await?;
        let now = live.advertised();
        let name = self.config.name.as_str();
        let kept = self.host.store_reviewed_tools(name, &now).await;
        kept.map_err(ToolError::execution)?;
        self.host.store_seen_tools(name, None).await;
        if live.is_first_sight {
            // The server runs with empty folders. The next call starts it with the folders of its
            // entry.
            self.slot.lock().await.live = None;
            live.end();
            self.set(ConnectionState::Idle);
        }
        self.host.tools_changed(name);
        Ok(now.tools.len())
    }

    /// Stores the definitions that were seen, if they differ from the reviewed ones. The tools then
    /// stay held, and are shown as held, while the server is not connected.
    pub(crate) async fn remember_seen(&self, now: &ReviewedTools) {
        let name = self.config.name.as_str();
        let reviewed = self.host.reviewed_tools(name).await.unwrap_or_default();
        let differs = reviewed.differs(now, self.config.pin);
        self.host.store_seen_tools(name, differs.then_some(now)).await;
    }
}
