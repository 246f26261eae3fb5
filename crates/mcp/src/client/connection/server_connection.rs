//! Connection to one server: its state, and shared access to it. Each configured server has exactly
//! one connection for all callers.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, Weak};

use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolError;

use super::super::oauth::TokenManager;
use super::super::running_calls::RunningCalls;
use super::super::stderr_log::StderrLog;
use super::super::tool_recheck::ToolRecheck;
use super::super::{ClientHost, ServerConfig};
use super::live::lock;
use super::slot::ConnectionSlot;
use super::state::ConnectionState;

/// A server and the connection to it.
pub struct Connection {
    pub(super) config: ServerConfig,
    pub(super) host: Arc<dyn ClientHost>,
    pub(super) log: StderrLog,
    /// Manages its token, if it uses one of ours.
    pub(super) keeper: Option<Arc<TokenManager>>,
    /// Locked while connecting, so that only one attempt runs.
    pub(super) slot: tokio::sync::Mutex<ConnectionSlot>,
    pub(super) state: Mutex<ConnectionState>,
    pub(super) calls: RunningCalls,
    pub(super) recheck: ToolRecheck,
    pub(super) unanswered: AtomicU32,
    /// Cancelled when the owner has disabled, removed or changed the server.
    pub(super) retired: CancellationToken,
    pub(super) me: Weak<Self>,
}

impl Connection {
    /// Creates a connection that is not open yet.
    #[must_use]
    pub fn new(config: ServerConfig, host: Arc<dyn ClientHost>) -> Arc<Self> {
        let log = StderrLog::new(host.log_file(config.name.as_str()));
        let keeper = Self::keeper_for(&config, &host);
        Arc::new_cyclic(|me| Self {
            config,
            host,
            log,
            keeper,
            slot: tokio::sync::Mutex::default(),
            state: Mutex::new(ConnectionState::Idle),
            calls: RunningCalls::default(),
            recheck: ToolRecheck::default(),
            unanswered: AtomicU32::new(0),
            retired: CancellationToken::new(),
            me: me.clone(),
        })
    }

    /// Returns the configuration of the server.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Returns the current state.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        lock(&self.state).clone()
    }

    /// Returns why the list of its tools is incomplete, if it is connected.
    pub async fn cut(&self) -> Option<String> {
        let live = self.connected().await?;
        lock(&live.cut).clone()
    }

    /// Returns the end of its standard error.
    #[must_use]
    pub fn errors(&self) -> String {
        self.log.tail()
    }

    pub(crate) fn host(&self) -> &Arc<dyn ClientHost> {
        &self.host
    }

    pub(crate) fn token_manager(&self) -> Option<&Arc<TokenManager>> {
        self.keeper.as_ref()
    }

    pub(crate) fn log(&self) -> &StderrLog {
        &self.log
    }

    pub(crate) fn weak(&self) -> Weak<Self> {
        self.me.clone()
    }

    pub(super) fn set(&self, state: ConnectionState) {
        *lock(&self.state) = state;
    }

    /// Connects if necessary; returns the number of tools.
    ///
    /// # Errors
    /// Why it cannot be reached, for the model.
    pub async fn connect(&self) -> Result<usize, ToolError> {
        Ok(self.live().await?.advertised().tools.len())
    }

    /// Disconnects: its program ends. The next call connects again.
    pub async fn disconnect(&self) {
        let live = self.slot.lock().await.live.take();
        self.set(ConnectionState::Idle);
        drop(live);
    }

    /// Ends the connection permanently, with its running calls and its program: the owner has
    /// disabled, removed or changed the server.
    pub async fn retire(&self) {
        self.retired.cancel();
        let live = self.slot.lock().await.live.take();
        if let Some(live) = live {
            live.end();
        }
        self.set(ConnectionState::Idle);
    }
}
