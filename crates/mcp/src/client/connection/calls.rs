//! Running calls of a connection, messages of the server during them, and ending a server that
//! misbehaves.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[expect(deprecated, reason = "servers of the older revisions have it")]
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::model::{ProgressNotificationParam, ProgressToken, RequestId};

use super::super::running_calls::{AskingCall, RunningCalls};
use super::super::tool_recheck::ToolRecheck;
use super::live::lock;
use super::server_connection::Connection;
use super::state::ConnectionState;

/// Timeouts in a row after which the server is considered hung and is restarted.
const MAX_TIMEOUTS: u32 = 2;
/// How long a server that flooded us is not started again.
const QUARANTINE: Duration = Duration::from_secs(300);
/// Maximum characters of a log line or a progress message of a server.
const MESSAGE_CHARS: usize = 2_000;

impl Connection {
    /// Returns the running calls.
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

    /// Forwards the progress of a call.
    pub(crate) fn progress(&self, told: &ProgressNotificationParam) {
        if let Some(call) = self.calls.with_token(&told.progress_token) {
            let message = told.message.as_ref().map(|text| cut(text));
            self.host.progress(&call, told.progress, told.total, message);
        }
    }

    /// Stores a log line of the server.
    #[expect(deprecated, reason = "servers of the older revisions have it")]
    pub(crate) fn log_message(&self, told: &LoggingMessageNotificationParam) {
        let text = cut(&told.data.to_string());
        self.log.push_line(&format!("{:?}: {text}", told.level));
    }

    /// Ends the server and does not start it again for a while.
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
