//! The running calls of a connection, for assigning the server's messages to a call.
//!
//! Over HTTP, a question arrives in the stream of the request that it belongs to. Over standard
//! output, a server of an older revision does not state the call of a question. Such a question is
//! answered only if a single call can have caused it: with several calls, the answer of one client
//! could end up in the result of another.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{ProgressToken, RequestId};
use rmcp::service::InboundStreamOrigin;
use tokio_util::sync::CancellationToken;
use toolcrib_core::CallCtx;

/// Maximum questions of a server in one call, as in other implementations.
const QUESTIONS: u32 = 10;
/// How long an abandoned call may still be the cause of a question.
const ABANDONED: Duration = Duration::from_secs(300);
/// How long to wait for the call of a question: the question can arrive before we know the id of
/// our own request.
const REGISTRATION: Duration = Duration::from_secs(1);

/// The questions that a server may still ask in one call.
#[derive(Debug, Clone)]
pub(crate) struct QuestionBudget {
    asked: Arc<AtomicU32>,
    /// Cancelled when the server has asked too many questions, which ends the call.
    pub(crate) exceeded: CancellationToken,
}

impl Default for QuestionBudget {
    fn default() -> Self {
        Self { asked: Arc::default(), exceeded: CancellationToken::new() }
    }
}

impl QuestionBudget {
    /// Counts a question; `false` if it exceeds the limit.
    pub(crate) fn take(&self) -> bool {
        let within = self.asked.fetch_add(1, Ordering::Relaxed) < QUESTIONS;
        if !within {
            self.exceeded.cancel();
        }
        within
    }
}

/// The call that a question belongs to.
#[derive(Clone)]
pub(crate) struct AskingCall {
    pub(crate) ctx: CallCtx,
    pub(crate) questions: QuestionBudget,
}

/// Why no call was found for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoCall {
    #[error("no call of ours is running")]
    None,
    #[error("several calls are running, and the protocol does not say which one it asks for")]
    Several,
}

struct RunningCall {
    request: RequestId,
    token: ProgressToken,
    call: AskingCall,
    /// When we stopped waiting for the call.
    abandoned: Option<Instant>,
}

/// The calls of one connection.
#[derive(Default)]
pub(crate) struct RunningCalls(Mutex<Vec<RunningCall>>);

impl RunningCalls {
    fn lock(&self) -> MutexGuard<'_, Vec<RunningCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, request: RequestId, token: ProgressToken, call: AskingCall) {
        self.lock().push(RunningCall { request, token, call, abandoned: None });
    }

    /// Marks a call as abandoned: we no longer wait for it, but the server may still work on it.
    pub(super) fn abandon(&self, request: &RequestId) {
        let now = Instant::now();
        let mut calls = self.lock();
        calls.retain(|one| one.abandoned.is_none_or(|at| now.duration_since(at) < ABANDONED));
        if let Some(one) = calls.iter_mut().find(|one| one.request == *request) {
            one.abandoned = Some(now);
        }
    }

    /// Records that the server has answered this request.
    pub(crate) fn answered(&self, request: &RequestId) {
        self.lock().retain(|one| one.request != *request);
    }

    /// Removes abandoned calls of an earlier connection, which will not be answered any more.
    pub(super) fn forget_abandoned(&self) {
        self.lock().retain(|one| one.abandoned.is_none());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().iter().all(|one| one.abandoned.is_some())
    }

    /// Returns the running call with this progress token.
    pub(crate) fn with_token(&self, token: &ProgressToken) -> Option<CallCtx> {
        let calls = self.lock();
        let own = calls.iter().find(|one| one.token == *token && one.abandoned.is_none())?;
        Some(own.call.ctx.clone())
    }

    fn with_request(&self, request: &RequestId) -> Option<AskingCall> {
        let calls = self.lock();
        let own = calls.iter().find(|one| one.request == *request && one.abandoned.is_none())?;
        Some(own.call.clone())
    }

    /// Returns the only call that can have caused a question.
    fn only(&self) -> Result<AskingCall, NoCall> {
        let now = Instant::now();
        let calls = self.lock();
        // Abandoned calls count too: the server may still work on them and ask questions.
        let mut open = calls
            .iter()
            .filter(|one| one.abandoned.is_none_or(|at| now.duration_since(at) < ABANDONED));
        match (open.next(), open.next()) {
            (Some(one), None) if one.abandoned.is_none() => Ok(one.call.clone()),
            (Some(_), Some(_)) => Err(NoCall::Several),
            _ => Err(NoCall::None),
        }
    }

    /// Finds the call that a question of the server belongs to.
    ///
    /// # Errors
    /// [`NoCall`]; the question is then declined.
    pub(crate) async fn asking(
        &self,
        origin: Option<&InboundStreamOrigin>,
    ) -> Result<AskingCall, NoCall> {
        let end = Instant::now() + REGISTRATION;
        loop {
            let found = match origin {
                Some(InboundStreamOrigin::OutboundRequest(request)) => {
                    self.with_request(request).ok_or(NoCall::None)
                }
                _ => self.only(),
            };
            if !matches!(found, Err(NoCall::None)) || Instant::now() >= end {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
