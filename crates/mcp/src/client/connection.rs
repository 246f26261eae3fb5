//! One server: whether it is connected, and everybody's way to it. There is one connection for a configuration, whoever calls.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use rmcp::model::ProgressToken;
use rmcp::service::{Peer, RoleClient, RunningService};
use serde::Serialize;
use toolcrib_core::{CallCtx, ErrorType, ToolError};
use toolcrib_sandbox::Process;

use super::auth::{AuthError, Keeper, Kept, Login};
use super::connecting::{self, NotConnected};
use super::handler::OurSide;
use super::log::Log;
use super::pins::{Held, Pins};
use super::{Host, Remote, ServerConfig};

/// Longest time from the start of a program to its list of tools (SPEC 6.7: 30 s for a request).
const CONNECT_TIME: Duration = Duration::from_secs(30);
/// Longest wait between two attempts (SPEC 6.7: 1 to 60 s).
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);
/// A connection that held less long counts as a failed attempt.
const LASTED: Duration = Duration::from_secs(10);
/// Calls in a row without an answer in time, after which the server counts as hung and is started anew.
const HUNG: u32 = 2;

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nobody has called it, or not for a while.
    Idle,
    /// It is being started or asked.
    Connecting,
    /// It answers.
    Connected {
        /// What it calls itself.
        server: String,
        /// The revision that is spoken.
        protocol: String,
    },
    /// A person has to agree first: `toolcrib mcp auth`.
    NeedsAuthorization {
        /// Its name.
        name: String,
    },
    /// It cannot be reached.
    Error {
        /// What happened.
        reason: String,
    },
}

impl fmt::Display for State {
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

/// A server and the way to it.
pub struct Connection {
    config: ServerConfig,
    host: Arc<dyn Host>,
    log: Log,
    /// Keeps its token, if it is one that wants some.
    keeper: Option<Arc<Keeper>>,
    /// Held while somebody connects, so that nobody does twice.
    slot: tokio::sync::Mutex<Slot>,
    state: Mutex<State>,
    /// Calls at work, the newest last.
    calls: Mutex<Vec<(ProgressToken, CallCtx)>>,
    unanswered: AtomicU32,
    me: Weak<Self>,
}

#[derive(Default)]
struct Slot {
    live: Option<Arc<Live>>,
    failures: u32,
    retry_at: Option<Instant>,
}

/// A server that is connected. Dropped, its program ends.
pub(crate) struct Live {
    pub(crate) service: RunningService<RoleClient, OurSide>,
    /// What it says of its tools now.
    pub(crate) now: RwLock<Pins>,
    pub(crate) server: String,
    pub(crate) protocol: String,
    pub(crate) since: Instant,
    pub(crate) used: Mutex<Instant>,
    /// Its program and all that it started.
    pub(crate) _process: Option<Mutex<Process>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    fn is_gone(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    pub(crate) fn says(&self) -> Pins {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the tool is still the one that was reviewed.
    pub(crate) fn check(&self, server: &str, tool: &str, pinned: &str) -> Result<(), ToolError> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner).hash(tool);
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

/// Who keeps the token of a server over HTTP, unless a header of the configuration says who we are, or it would go there in the clear.
fn keeper(config: &ServerConfig, host: &Arc<dyn Host>) -> Option<Arc<Keeper>> {
    let Remote::Http(http) = &config.remote else { return None };
    if http.says_who_we_are() {
        return None;
    }
    let (name, oauth) = (config.name.as_str(), http.oauth.clone());
    Keeper::new(name, &http.url, oauth, Arc::clone(host)).map(Arc::new)
}

impl Connection {
    /// A server that nobody has called.
    #[must_use]
    pub fn new(config: ServerConfig, host: Arc<dyn Host>) -> Arc<Self> {
        let log = Log::new(host.log_file(config.name.as_str()));
        let keeper = keeper(&config, &host);
        Arc::new_cyclic(|me| Self {
            config,
            host,
            log,
            keeper,
            slot: tokio::sync::Mutex::default(),
            state: Mutex::new(State::Idle),
            calls: Mutex::default(),
            unanswered: AtomicU32::new(0),
            me: me.clone(),
        })
    }

    /// What is configured of it.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// How it stands now.
    #[must_use]
    pub fn state(&self) -> State {
        lock(&self.state).clone()
    }

    /// The newest of what it wrote of errors.
    #[must_use]
    pub fn errors(&self) -> String {
        self.log.tail()
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    pub(crate) fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.keeper.as_ref()
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) fn weak(&self) -> Weak<Self> {
        self.me.clone()
    }

    fn set(&self, state: State) {
        *lock(&self.state) = state;
    }

    /// Connects, if it is not connected, and says how many tools there are.
    ///
    /// # Errors
    /// Why it cannot be reached, for the model.
    pub async fn connect(&self) -> Result<usize, ToolError> {
        Ok(self.live().await?.says().tools.len())
    }

    /// Lets it go: its program ends. The next call connects again.
    pub async fn disconnect(&self) {
        let live = self.slot.lock().await.live.take();
        self.set(State::Idle);
        drop(live);
    }

    /// What differs from what was reviewed. Connects first.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn held(&self) -> Result<Vec<Held>, ToolError> {
        let now = self.live().await?.says();
        let reviewed = self.host.pins(self.config.name.as_str()).await.unwrap_or_default();
        Ok(reviewed.held(&now))
    }

    /// The same of a server that is connected, without waiting for anybody; nothing of another one.
    pub async fn held_now(&self) -> Vec<Held> {
        let live = self.slot.try_lock().ok().and_then(|slot| slot.live.clone());
        let Some(live) = live.filter(|live| !live.is_gone()) else { return Vec::new() };
        let reviewed = self.host.pins(self.config.name.as_str()).await.unwrap_or_default();
        reviewed.held(&live.says())
    }

    /// Takes what the server says now as reviewed, and connects first. How many tools that are.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and when it cannot be kept.
    pub async fn accept(&self) -> Result<usize, ToolError> {
        let now = self.live().await?.says();
        let kept = self.host.keep_pins(self.config.name.as_str(), &now).await;
        kept.map_err(ToolError::execution)?;
        self.host.changed(self.config.name.as_str());
        Ok(now.tools.len())
    }

    /// The server, connected. Whoever comes while somebody connects waits for the same attempt.
    pub(crate) async fn live(&self) -> Result<Arc<Live>, ToolError> {
        let mut slot = self.slot.lock().await;
        if let Some(live) = &slot.live {
            if !live.is_gone() {
                *lock(&live.used) = Instant::now();
                return Ok(Arc::clone(live));
            }
            self.gone(&mut slot);
        }
        if let Some(wait) = slot.retry_at.and_then(|at| at.checked_duration_since(Instant::now())) {
            let reason = match self.state() {
                State::NeedsAuthorization { .. } if self.is_authorized_anew().await => None,
                State::NeedsAuthorization { .. } => return Err(self.needs_authorization()),
                State::Error { reason } => Some(reason),
                _ => Some("it ended at once".to_owned()),
            };
            if let Some(reason) = reason {
                return Err(self.unreachable(&reason, Some(wait)));
            }
        }
        self.set(State::Connecting);
        let attempt = connecting::connect(self);
        let attempt = match tokio::time::timeout(CONNECT_TIME, attempt).await {
            Ok(attempt) => attempt,
            Err(_) => Err(format!("it gave no answer within {} s", CONNECT_TIME.as_secs()).into()),
        };
        match attempt {
            Ok(live) => {
                let live = Arc::new(live);
                slot.live = Some(Arc::clone(&live));
                slot.retry_at = None;
                self.unanswered.store(0, Ordering::Relaxed);
                let (server, protocol) = (live.server.clone(), live.protocol.clone());
                self.set(State::Connected { server, protocol });
                self.watch_idle();
                Ok(live)
            }
            Err(NotConnected::NeedsAuthorization) => {
                back_off(&mut slot);
                self.log.note("it needs authorization");
                self.set(State::NeedsAuthorization { name: self.config.name.to_string() });
                Err(self.needs_authorization())
            }
            Err(NotConnected::Failed(reason)) => {
                back_off(&mut slot);
                self.log.note(&reason);
                self.set(State::Error { reason: reason.clone() });
                Err(self.unreachable(&reason, None))
            }
        }
    }

    /// The server, if it is connected.
    pub(crate) async fn connected(&self) -> Option<Arc<Live>> {
        self.slot.lock().await.live.clone().filter(|live| !live.is_gone())
    }

    fn gone(&self, slot: &mut Slot) {
        let Some(live) = slot.live.take() else { return };
        if live.since.elapsed() < LASTED {
            back_off(slot);
        } else {
            slot.failures = 0;
        }
        self.log.note("the connection ended");
        self.set(State::Error { reason: "the server ended the connection".to_owned() });
    }

    async fn is_authorized_anew(&self) -> bool {
        match &self.keeper {
            Some(keeper) => keeper.has_changed().await,
            None => false,
        }
    }

    /// What a server wants that refuses who we are, where no token is ours to send; `None` = a login helps.
    pub(crate) fn refuses_us(&self) -> Option<String> {
        if self.keeper.is_some() {
            return None;
        }
        let Remote::Http(http) = &self.config.remote else { return None };
        let name = &self.config.name;
        Some(if http.says_who_we_are() {
            format!(
                "it does not take the header that says who we are; look at the headers of {name} in mcp.toml"
            )
        } else {
            format!(
                "it wants a login, and at an http address on another machine anybody on the way could read the token; give {name} its https address in mcp.toml, then run `toolcrib mcp auth {name}`"
            )
        })
    }

    /// A person has to agree before it can be called.
    pub(crate) fn needs_authorization(&self) -> ToolError {
        if let Some(why) = self.refuses_us() {
            return self.unreachable(&why, None);
        }
        let name = &self.config.name;
        let text = format!(
            "The MCP server {name} needs authorization: run `toolcrib mcp auth {name}`. Nothing was called, and calling it again does not help. Tell the user, or go on without it."
        );
        ToolError::new(ErrorType::NotConfigured, text)
    }

    /// What is kept of its authorization; `None` = it takes none of ours: a program, one with a header that says who we are, or one
    /// on another machine without TLS.
    pub async fn authorization(&self) -> Option<Kept> {
        match &self.keeper {
            Some(keeper) => Some(keeper.now().await),
            None => None,
        }
    }

    /// Begins a login of a person, who comes back to `redirect`, an address of this machine.
    ///
    /// # Errors
    /// [`AuthError`].
    pub async fn login(&self, redirect: &str) -> Result<Login, AuthError> {
        let none = || AuthError::Configuration("it takes no authorization of ours".to_owned());
        self.keeper.as_ref().ok_or_else(none)?.login(redirect).await
    }

    /// Ends a login with the address that the person came back to. One that belongs to another login leaves this one open.
    ///
    /// # Errors
    /// [`AuthError`].
    pub async fn finish_login(&self, login: &Login, redirected: &str) -> Result<(), AuthError> {
        let none = || AuthError::Configuration("it takes no authorization of ours".to_owned());
        self.keeper.as_ref().ok_or_else(none)?.finish(login, redirected).await?;
        self.slot.lock().await.retry_at = None;
        Ok(())
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

    /// A call begins: it is found by what the server says of it.
    pub(crate) fn enter(&self, token: ProgressToken, call: CallCtx) -> AtWork<'_> {
        lock(&self.calls).push((token.clone(), call));
        AtWork { connection: self, token }
    }

    /// The call that a progress token was given for.
    pub(crate) fn call_of(&self, token: &ProgressToken) -> Option<CallCtx> {
        let calls = lock(&self.calls);
        calls.iter().find(|(own, _)| own == token).map(|(_, call)| call.clone())
    }

    /// The call that a question most likely belongs to: the newest. Old revisions do not say.
    pub(crate) fn newest_call(&self) -> Option<CallCtx> {
        lock(&self.calls).last().map(|(_, call)| call.clone())
    }

    /// An answer came.
    pub(crate) fn answered(&self) {
        self.unanswered.store(0, Ordering::Relaxed);
    }

    /// No answer came in time. A server that does that again and again is ended.
    pub(crate) fn did_not_answer(&self) {
        if self.unanswered.fetch_add(1, Ordering::Relaxed) + 1 < HUNG {
            return;
        }
        let Some(me) = self.me.upgrade() else { return };
        tokio::spawn(async move {
            me.log.note("it did not answer several calls in time and is ended");
            me.slot.lock().await.live = None;
            me.set(State::Error { reason: "it did not answer calls in time".to_owned() });
        });
    }

    /// The server says that its tools are others now.
    pub(crate) fn look_again(&self) {
        let Some(me) = self.me.upgrade() else { return };
        tokio::spawn(async move {
            let Some(live) = me.connected().await else { return };
            match connecting::definitions(live.peer()).await {
                Ok(definitions) => {
                    let identity = live.says().identity;
                    let says = Pins::of(identity, &definitions);
                    *live.now.write().unwrap_or_else(PoisonError::into_inner) = says;
                    me.host.changed(me.config.name.as_str());
                }
                Err(error) => me.log.note(&format!("its tools could not be listed again: {error}")),
            }
        });
    }

    /// Lets the server go when nobody has called it for a while.
    fn watch_idle(&self) {
        let (me, idle) = (self.me.clone(), self.config.idle);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(idle).await;
                let Some(me) = me.upgrade() else { return };
                let mut slot = me.slot.lock().await;
                let Some(live) = &slot.live else { return };
                if live.is_gone() {
                    me.gone(&mut slot);
                    return;
                }
                if lock(&live.used).elapsed() >= idle && lock(&me.calls).is_empty() {
                    slot.live = None;
                    me.set(State::Idle);
                    return;
                }
            }
        });
    }
}

fn back_off(slot: &mut Slot) {
    let wait = Duration::from_secs(1 << slot.failures.min(6)).min(LONGEST_BACKOFF);
    slot.failures += 1;
    slot.retry_at = Some(Instant::now() + wait);
}

/// A call at work on a connection.
pub(crate) struct AtWork<'a> {
    connection: &'a Connection,
    token: ProgressToken,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        lock(&self.connection.calls).retain(|(token, _)| *token != self.token);
        // Idle time counts from the end of a call.
        if let Ok(slot) = self.connection.slot.try_lock()
            && let Some(live) = &slot.live
        {
            *lock(&live.used) = Instant::now();
        }
    }
}
