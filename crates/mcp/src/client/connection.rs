//! Connection to one server: its state, and shared access to it. Each configured server has exactly
//! one connection for all callers.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

#[expect(deprecated, reason = "servers of the older revisions have it")]
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::model::{ProgressNotificationParam, ProgressToken, RequestId};
use rmcp::service::{Peer, RoleClient, RunningService};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{ErrorType, ToolError};
use toolcrib_sandbox::Process;

use super::client_handler::McpClientHandler;
use super::connect::{self, ConnectError};
use super::oauth::{AuthError, Login, StoredCredentials, TokenManager};
use super::reviewed_tools::{PendingReview, ReviewedTools};
use super::running_calls::{AskingCall, RunningCalls};
use super::stderr_log::StderrLog;
use super::tool_recheck::ToolRecheck;
use super::{ClientHost, Remote, ServerConfig};

/// Time limit from the start of a program to its tool list.
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// Time limit of fetching a program from a package registry.
const PREPARE_TIME: Duration = Duration::from_secs(300);
/// Longest wait between two attempts; the first is 1 s.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);
/// A connection that lasted less than this counts as a failed attempt.
const STABLE_TIME: Duration = Duration::from_secs(10);
/// Timeouts in a row after which the server counts as hung and is restarted.
const MAX_TIMEOUTS: u32 = 2;
/// How long a server that flooded us is left alone.
const QUARANTINE: Duration = Duration::from_secs(300);
/// Characters that are kept of a log line or a progress message of a server.
const MESSAGE_CHARS: usize = 2_000;

/// State of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ConnectionState {
    /// Never called, or not for a while.
    Idle,
    /// Being started or connected.
    Connecting,
    /// Connected.
    Connected {
        /// The name that the server reports.
        server: String,
        /// The negotiated protocol revision.
        protocol: String,
    },
    /// A person must authorize first: `toolcrib mcp auth`.
    NeedsAuthorization {
        /// Name of the server.
        name: String,
    },
    /// Cannot be reached.
    Error {
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for ConnectionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("idle"),
            Self::Connecting => f.write_str("connecting"),
            Self::Connected { server, protocol } => write!(f, "connected to {server} ({protocol})"),
            Self::NeedsAuthorization { name } => {
                write!(f, "needs authorization: run `toolcrib mcp auth {name}`")
            }
            Self::Error { reason } => write!(f, "error: {reason}"),
        }
    }
}

/// A server and the connection to it.
pub struct Connection {
    config: ServerConfig,
    host: Arc<dyn ClientHost>,
    log: StderrLog,
    /// Manages its token, if it uses one of ours.
    keeper: Option<Arc<TokenManager>>,
    /// Locked while connecting, so that only one attempt runs.
    slot: tokio::sync::Mutex<ConnectionSlot>,
    state: Mutex<ConnectionState>,
    calls: RunningCalls,
    recheck: ToolRecheck,
    unanswered: AtomicU32,
    /// Cancelled when its owner has switched it off, removed or changed it.
    retired: CancellationToken,
    me: Weak<Self>,
}

#[derive(Default)]
struct ConnectionSlot {
    live: Option<Arc<LiveConnection>>,
    failures: u32,
    retry_at: Option<Instant>,
}

/// A live connection. Dropping it ends the server's program.
pub(crate) struct LiveConnection {
    pub(crate) service: RunningService<RoleClient, McpClientHandler>,
    /// The tool definitions that the server reports now.
    pub(crate) now: RwLock<ReviewedTools>,
    pub(crate) server: String,
    pub(crate) protocol: String,
    pub(crate) since: Instant,
    pub(crate) used: Mutex<Instant>,
    /// It was not reviewed yet, and sees no workspace.
    pub(crate) is_first_sight: bool,
    /// Why its list of tools is not complete.
    pub(crate) cut: Mutex<Option<String>>,
    /// Its process with all children.
    pub(crate) process: Option<Mutex<Process>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveConnection {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    fn is_gone(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// Ends it at once, also for calls that are running.
    fn end(&self) {
        self.service.cancellation_token().cancel();
        if let Some(killer) = self.process.as_ref().and_then(|process| lock(process).killer()) {
            killer.kill();
        }
    }

    pub(crate) fn advertised(&self) -> ReviewedTools {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The isolation level of its program.
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

/// The token manager of an HTTP server. `None` if a configured header carries credentials, or if
/// the token would be sent unencrypted.
fn keeper(config: &ServerConfig, host: &Arc<dyn ClientHost>) -> Option<Arc<TokenManager>> {
    let Remote::Http(http) = &config.remote else { return None };
    if http.has_own_credentials() {
        return None;
    }
    let (name, oauth) = (config.name.as_str(), http.oauth.clone());
    TokenManager::new(name, &http.url, oauth, Arc::clone(host)).map(Arc::new)
}

impl Connection {
    /// A connection that is not open yet.
    #[must_use]
    pub fn new(config: ServerConfig, host: Arc<dyn ClientHost>) -> Arc<Self> {
        let log = StderrLog::new(host.log_file(config.name.as_str()));
        let keeper = keeper(&config, &host);
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

    /// The configuration of the server.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// The present state.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        lock(&self.state).clone()
    }

    /// Why the list of its tools is not complete, if it is connected.
    pub async fn cut(&self) -> Option<String> {
        let live = self.connected().await?;
        lock(&live.cut).clone()
    }

    /// The end of its standard error.
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

    fn set(&self, state: ConnectionState) {
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

    /// Ends the connection for good, with the calls that are running on it and its program: the
    /// owner has switched the server off, removed or changed it.
    pub async fn retire(&self) {
        self.retired.cancel();
        let live = self.slot.lock().await.live.take();
        if let Some(live) = live {
            live.end();
        }
        self.set(ConnectionState::Idle);
    }

    /// The differences from the reviewed definitions. Connects first.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn pending_reviews(&self) -> Result<Vec<PendingReview>, ToolError> {
        let now = self.live().await?.advertised();
        let reviewed =
            self.host.reviewed_tools(self.config.name.as_str()).await.unwrap_or_default();
        Ok(reviewed.pending_reviews(&now, self.config.pin))
    }

    /// What the server offers now; connects first.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn offered(&self) -> Result<ReviewedTools, ToolError> {
        Ok(self.live().await?.advertised())
    }

    /// Whether its tools were reviewed once.
    pub async fn is_reviewed(&self) -> bool {
        self.host.reviewed_tools(self.config.name.as_str()).await.is_some()
    }

    /// How the version or the program of the server differs from the reviewed one; connects first.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn program_change(&self) -> Result<Option<String>, ToolError> {
        let now = self.live().await?.advertised();
        let reviewed = self.host.reviewed_tools(self.config.name.as_str()).await;
        Ok(reviewed.and_then(|reviewed| reviewed.program_change(&now)))
    }

    /// The differences that are known without connecting: those of a connected server, otherwise
    /// those that were seen last.
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

    /// Accepts the present definitions as reviewed; connects first. Returns the number of tools.
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
            // It runs with empty folders. The next call starts it with those of its entry.
            self.slot.lock().await.live = None;
            live.end();
            self.set(ConnectionState::Idle);
        }
        self.host.tools_changed(name);
        Ok(now.tools.len())
    }

    /// Stores what was seen of a server's tools where it differs from what was reviewed, so that
    /// they stay held, and are shown as such, when the server is not connected.
    pub(crate) async fn remember_seen(&self, now: &ReviewedTools) {
        let name = self.config.name.as_str();
        let reviewed = self.host.reviewed_tools(name).await.unwrap_or_default();
        let differs = !reviewed.pending_reviews(now, self.config.pin).is_empty();
        self.host.store_seen_tools(name, differs.then_some(now)).await;
    }

    /// The live connection. Callers during an attempt share its result.
    pub(crate) async fn live(&self) -> Result<Arc<LiveConnection>, ToolError> {
        let mut slot = self.slot.lock().await;
        if self.retired.is_cancelled() {
            return Err(self.was_retired());
        }
        if let Some(live) = &slot.live {
            if !live.is_gone() {
                *lock(&live.used) = Instant::now();
                return Ok(Arc::clone(live));
            }
            self.mark_gone(&mut slot);
        }
        if let Some(wait) = slot.retry_at.and_then(|at| at.checked_duration_since(Instant::now())) {
            let reason = match self.state() {
                ConnectionState::NeedsAuthorization { .. } if self.is_authorized_anew().await => {
                    None
                }
                ConnectionState::NeedsAuthorization { .. } => {
                    return Err(self.needs_authorization());
                }
                ConnectionState::Error { reason } => Some(reason),
                _ => Some("it ended at once".to_owned()),
            };
            if let Some(reason) = reason {
                return Err(self.unreachable(&reason, Some(wait)));
            }
        }
        self.set(ConnectionState::Connecting);
        let prepared = tokio::select! {
            prepared = self.prepare() => prepared,
            () = self.retired.cancelled() => return Err(self.was_retired()),
        };
        if let Err(reason) = prepared {
            back_off(&mut slot);
            self.log.push_line(&reason);
            self.set(ConnectionState::Error { reason: reason.clone() });
            return Err(self.unreachable(&reason, None));
        }
        let attempt = connect::connect(self);
        let attempt = tokio::select! {
            attempt = tokio::time::timeout(CONNECT_TIME, attempt) => attempt.unwrap_or_else(|_| {
                Err(format!("it gave no answer within {} s", CONNECT_TIME.as_secs()).into())
            }),
            () = self.retired.cancelled() => return Err(self.was_retired()),
        };
        match attempt {
            Ok(live) => {
                let live = Arc::new(live);
                slot.live = Some(Arc::clone(&live));
                slot.retry_at = None;
                self.calls.forget_abandoned();
                self.unanswered.store(0, Ordering::Relaxed);
                let (server, protocol) = (live.server.clone(), live.protocol.clone());
                self.set(ConnectionState::Connected { server, protocol });
                self.watch_idle();
                Ok(live)
            }
            Err(ConnectError::NeedsAuthorization) => {
                back_off(&mut slot);
                self.log.push_line("it needs authorization");
                self.set(ConnectionState::NeedsAuthorization {
                    name: self.config.name.to_string(),
                });
                Err(self.needs_authorization())
            }
            Err(ConnectError::Failed(reason)) => {
                back_off(&mut slot);
                self.log.push_line(&reason);
                self.set(ConnectionState::Error { reason: reason.clone() });
                Err(self.unreachable(&reason, None))
            }
        }
    }

    /// What has to be done before a start, such as fetching the program.
    async fn prepare(&self) -> Result<(), String> {
        let Remote::Stdio(program) = &self.config.remote else { return Ok(()) };
        let prepared = self.host.prepare(self.config.name.as_str(), program);
        match tokio::time::timeout(PREPARE_TIME, prepared).await {
            Ok(prepared) => prepared,
            Err(_) => {
                Err(format!("its program could not be fetched within {} s", PREPARE_TIME.as_secs()))
            }
        }
    }

    /// The live connection, if there is one.
    pub(crate) async fn connected(&self) -> Option<Arc<LiveConnection>> {
        self.slot.lock().await.live.clone().filter(|live| !live.is_gone())
    }

    fn mark_gone(&self, slot: &mut ConnectionSlot) {
        let Some(live) = slot.live.take() else { return };
        if live.since.elapsed() < STABLE_TIME {
            back_off(slot);
        } else {
            slot.failures = 0;
        }
        self.log.push_line("the connection ended");
        self.set(ConnectionState::Error { reason: "the server ended the connection".to_owned() });
    }

    async fn is_authorized_anew(&self) -> bool {
        match &self.keeper {
            Some(keeper) => keeper.has_changed().await,
            None => false,
        }
    }

    /// What the server expects if it rejects our credentials and we have no token to send; `None`
    /// if a login helps.
    pub(crate) fn refusal(&self) -> Option<String> {
        if self.keeper.is_some() {
            return None;
        }
        let Remote::Http(http) = &self.config.remote else { return None };
        let name = &self.config.name;
        Some(if http.has_own_credentials() {
            format!(
                "it does not take the header that says who we are; look at the headers of {name} in mcp.toml"
            )
        } else {
            format!(
                "it requires a login, and over plain http to another machine the token could be read on the way; give {name} its https address in mcp.toml, then run `toolcrib mcp auth {name}`"
            )
        })
    }

    /// The error that a person must authorize first.
    pub(crate) fn needs_authorization(&self) -> ToolError {
        if let Some(why) = self.refusal() {
            return self.unreachable(&why, None);
        }
        let name = &self.config.name;
        let text = format!(
            "The MCP server {name} needs authorization: run `toolcrib mcp auth {name}`. Nothing was called, and calling it again does not help. Tell the user, or go on without it."
        );
        ToolError::new(ErrorType::NotConfigured, text)
    }

    /// The stored credentials. `None` if it uses none of ours: a program, one with a credentials
    /// header, or a remote one without TLS.
    pub async fn authorization(&self) -> Option<StoredCredentials> {
        match &self.keeper {
            Some(keeper) => Some(keeper.stored_credentials().await),
            None => None,
        }
    }

    /// Begins a login; the browser is redirected to `redirect`, an address of this machine.
    ///
    /// # Errors
    /// [`AuthError`].
    pub async fn login(&self, redirect: &str) -> Result<Login, AuthError> {
        let none = || AuthError::Configuration("it takes no authorization of ours".to_owned());
        self.keeper.as_ref().ok_or_else(none)?.login(redirect).await
    }

    /// Completes a login with the URL of the redirect. The redirect of another login leaves this
    /// one open.
    ///
    /// # Errors
    /// [`AuthError`].
    pub async fn finish_login(&self, login: &Login, redirected: &str) -> Result<(), AuthError> {
        let none = || AuthError::Configuration("it takes no authorization of ours".to_owned());
        self.keeper.as_ref().ok_or_else(none)?.finish(login, redirected).await?;
        self.slot.lock().await.retry_at = None;
        Ok(())
    }

    fn was_retired(&self) -> ToolError {
        let name = &self.config.name;
        let text = format!(
            "The owner has switched the MCP server {name} off, removed or changed it, so nothing was called. If its tools are still listed, call again; otherwise go on without them, or tell the user."
        );
        ToolError::new(ErrorType::ToolNotAvailable, text)
    }

    fn unreachable(&self, reason: &str, wait: Option<Duration>) -> ToolError {
        let name = &self.config.name;
        let again = wait.map_or_else(String::new, |wait| {
            format!(" It is tried again in {} s.", wait.as_secs() + 1)
        });
        let text = format!(
            "The MCP server {name} cannot be reached, so nothing was called.{again} Go on without it, or tell the user, who can see why with `toolcrib mcp logs {name}`."
        );
        ToolError::new(ErrorType::NetworkError, text)
            .with_detail(reason.to_owned())
            .transient(false)
    }

    /// The running calls.
    pub(crate) fn calls(&self) -> &RunningCalls {
        &self.calls
    }

    pub(crate) fn recheck(&self) -> &ToolRecheck {
        &self.recheck
    }

    /// Registers a running call, so that messages of the server can be assigned to it.
    pub(crate) fn register_call(
        &self,
        request: RequestId,
        token: ProgressToken,
        call: AskingCall,
    ) -> CallGuard<'_> {
        self.calls.add(request.clone(), token, call);
        CallGuard { connection: self, request }
    }

    /// Passes on the progress of a call.
    pub(crate) fn progress(&self, told: &ProgressNotificationParam) {
        if let Some(call) = self.calls.with_token(&told.progress_token) {
            let message = told.message.as_ref().map(|text| cut(text));
            self.host.progress(&call, told.progress, told.total, message);
        }
    }

    /// Keeps a log line of the server.
    #[expect(deprecated, reason = "servers of the older revisions have it")]
    pub(crate) fn log_message(&self, told: &LoggingMessageNotificationParam) {
        let text = cut(&told.data.to_string());
        self.log.push_line(&format!("{:?}: {text}", told.level));
    }

    /// Ends the server and leaves it alone for a while.
    pub(crate) fn quarantine(&self, reason: String) {
        let Some(me) = self.me.upgrade() else { return };
        let minutes = QUARANTINE.as_secs() / 60;
        let reason = format!("it is in quarantine for {minutes} minutes: {reason}");
        self.log.push_line(&reason);
        tokio::spawn(async move {
            let mut slot = me.slot.lock().await;
            slot.live = None;
            slot.retry_at = Some(Instant::now() + QUARANTINE);
            me.set(ConnectionState::Error { reason });
        });
    }

    /// Resets the count of timeouts.
    pub(crate) fn record_answer(&self) {
        self.unanswered.store(0, Ordering::Relaxed);
    }

    /// Counts a timeout; too many in a row end the server.
    pub(crate) fn record_timeout(&self) {
        if self.unanswered.fetch_add(1, Ordering::Relaxed) + 1 < MAX_TIMEOUTS {
            return;
        }
        let Some(me) = self.me.upgrade() else { return };
        tokio::spawn(async move {
            me.log.push_line("it did not answer several calls in time and is ended");
            me.slot.lock().await.live = None;
            me.set(ConnectionState::Error { reason: "it did not answer calls in time".to_owned() });
        });
    }

    /// Disconnects the server when it is idle.
    fn watch_idle(&self) {
        let (me, idle) = (self.me.clone(), self.config.idle);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(idle).await;
                let Some(me) = me.upgrade() else { return };
                let mut slot = me.slot.lock().await;
                let Some(live) = &slot.live else { return };
                if live.is_gone() {
                    me.mark_gone(&mut slot);
                    return;
                }
                if lock(&live.used).elapsed() >= idle && me.calls.is_empty() {
                    slot.live = None;
                    me.set(ConnectionState::Idle);
                    return;
                }
            }
        });
    }
}

fn back_off(slot: &mut ConnectionSlot) {
    let wait = Duration::from_secs(1 << slot.failures.min(6)).min(LONGEST_BACKOFF);
    slot.failures += 1;
    slot.retry_at = Some(Instant::now() + wait);
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS).collect()
}

/// A running call on a connection. Dropping it before the server has answered abandons the call.
pub(crate) struct CallGuard<'a> {
    connection: &'a Connection,
    request: RequestId,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.connection.calls.abandon(&self.request);
        // Idle time counts from the end of a call.
        if let Ok(slot) = self.connection.slot.try_lock()
            && let Some(live) = &slot.live
        {
            *lock(&live.used) = Instant::now();
        }
    }
}
