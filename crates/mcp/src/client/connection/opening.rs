//! Opens a connection when it is needed, and closes it when it is idle.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use toolcrib_core::{ErrorType, ToolError};

use super::super::Remote;
use super::super::connect::{self, ConnectError};
use super::live::{LiveConnection, lock};
use super::server_connection::Connection;
use super::slot::ConnectionSlot;
use super::state::ConnectionState;

/// Time limit from the start of a program to its tool list.
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// Time limit of fetching a program from a package registry.
const PREPARE_TIME: Duration = Duration::from_secs(300);
/// A connection that lasted less than this counts as a failed attempt.
const STABLE_TIME: Duration = Duration::from_secs(10);

impl Connection {
    /// Returns the live connection, connecting if necessary. Callers during an attempt share its
    /// result.
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
                // A login since the last attempt allows an immediate retry.
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
            slot.back_off();
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
                slot.back_off();
                self.log.push_line("it needs authorization");
                self.set(ConnectionState::NeedsAuthorization {
                    name: self.config.name.to_string(),
                });
                Err(self.needs_authorization())
            }
            Err(ConnectError::Failed(reason)) => {
                slot.back_off();
                self.log.push_line(&reason);
                self.set(ConnectionState::Error { reason: reason.clone() });
                Err(self.unreachable(&reason, None))
            }
        }
    }

    /// Prepares a start, for example fetches the program.
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

    /// Returns the live connection, if there is one.
    pub(crate) async fn connected(&self) -> Option<Arc<LiveConnection>> {
        self.slot.lock().await.live.clone().filter(|live| !live.is_gone())
    }

    fn mark_gone(&self, slot: &mut ConnectionSlot) {
        let Some(live) = slot.live.take() else { return };
        if live.since.elapsed() < STABLE_TIME {
            slot.back_off();
        } else {
            slot.failures = 0;
        }
        self.log.push_line("the connection ended");
        self.set(ConnectionState::Error { reason: "the server ended the connection".to_owned() });
    }

    fn was_retired(&self) -> ToolError {
        let name = &self.config.name;
        let text = format!(
            "The owner has switched the MCP server {name} off, removed or changed it, so nothing was called. If its tools are still listed, call again; otherwise continue without them, or tell the user."
        );
        ToolError::new(ErrorType::ToolNotAvailable, text)
    }

    pub(super) fn unreachable(&self, reason: &str, wait: Option<Duration>) -> ToolError {
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
