//! Channels of running calls back to their MCP clients: progress, log lines and questions.
//!
//! A tool does not see its caller. A remote MCP tool has messages to forward, and finds the channel
//! here by the id of its call.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[expect(deprecated, reason = "clients of the older revisions have it")]
use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequestParams, InputRequest, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, RequestId,
    ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::CallId;

use crate::client::Elicited;

/// Maximum progress messages to one client that wait to be written.
const MOST_WRITES: usize = 64;

/// The channels of running calls.
#[derive(Clone, Default)]
pub struct ClientChannels {
    calls: Arc<Mutex<HashMap<CallId, Arc<ClientChannel>>>>,
}

/// The channel of one client request.
pub struct ClientChannel {
    /// The connection; `None` if only the response reaches the client.
    pub(crate) peer: Option<Peer<RoleServer>>,
    pub(crate) request: RequestId,
    /// The request that currently waits, if it requested progress. A client of the current revision
    /// sends another request after it has answered a question.
    pub(crate) waiting: Mutex<Option<ProgressRoute>>,
    pub(crate) capabilities: ClientCapabilities,
    /// Whether the client requested log lines. In the current revision each request states this.
    pub(crate) logs: bool,
    /// The capability that the client lacked for a question.
    pub(crate) missing_capability: Mutex<Option<ClientCapabilities>>,
    /// Queue of questions for a client that gets them in the response, as in the current revision;
    /// `None` if we send it requests.
    pub(crate) questions: Option<mpsc::Sender<ClientQuestions>>,
    /// Number of messages being written; a client that does not read gets no further ones.
    pub(crate) writing: AtomicUsize,
}

/// The destination of a call's progress.
#[derive(Clone)]
pub(crate) struct ProgressRoute {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl ProgressRoute {
    /// Returns the route of a request; `None` if it did not request progress.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        Self::new(Some(context.peer.clone()), context.meta.get_progress_token())
    }

    pub(crate) fn new(
        peer: Option<Peer<RoleServer>>,
        token: Option<ProgressToken>,
    ) -> Option<Self> {
        Some(Self { peer: peer?, token: token? })
    }
}

/// Questions that are asked together, by key, and the channel for the answers.
pub(crate) struct ClientQuestions {
    pub(crate) asked: BTreeMap<String, InputRequest>,
    pub(crate) answers: oneshot::Sender<BTreeMap<String, Value>>,
}

/// Why a client could not be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The client has not declared the capability for such a question.
    #[error("the client did not declare that it can answer this")]
    Unable,
    /// The client has disconnected, or its answer was invalid.
    #[error("the client gave no answer")]
    Gone,
}

impl ClientChannels {
    /// Returns the channel of this call; `None` if the call has no MCP client, or has ended.
    #[must_use]
    pub fn get(&self, call: CallId) -> Option<Arc<ClientChannel>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(&call).cloned()
    }

    /// Registers a call.
    pub(crate) fn register(&self, call: CallId, caller: Arc<ClientChannel>) -> ChannelGuard {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(call, caller);
        ChannelGuard { desk: self.clone(), call }
    }
}

/// A registered call; dropping it removes the call.
pub(crate) struct ChannelGuard {
    desk: ClientChannels,
    call: CallId,
}

impl Drop for ChannelGuard {
    fn drop(&mut self) {
        self.desk.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

/// Returns the capability that a client needs for this question.
fn required_capability(request: &InputRequest) -> Option<ClientCapabilities> {
    let name = match request {
        InputRequest::Elicitation(_) => "elicitation",
        InputRequest::CreateMessage(_) => "sampling",
        InputRequest::ListRoots(_) => "roots",
        _ => return None,
    };
    serde_json::from_value(serde_json::json!({ name: {} })).ok()
}

impl ClientChannel {
    /// Sets the request that waits from now on.
    pub(crate) fn set_waiting(&self, waiting: Option<ProgressRoute>) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = waiting;
    }

    /// Reports progress, if the client requested it and reads its messages.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(ProgressRoute { peer, token }) = waiting else { return };
        if self.writing.fetch_add(1, Ordering::Relaxed) < MOST_WRITES {
            let mut told = ProgressNotificationParam::new(token, done);
            (told.total, told.message) = (total, message);
            // The end of the call detects a disconnected client.
            let _ = peer.notify_progress(told).await;
        }
        self.writing.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sends a line for the client's log.
    #[expect(deprecated, reason = "clients of the older revisions have it")]
    pub async fn log(&self, level: &str, logger: &str, data: Value) {
        let Some(peer) = self.peer.as_ref().filter(|_| self.logs) else { return };
        let Ok(level) = serde_json::from_value::<LoggingLevel>(Value::String(level.to_owned()))
        else {
            return;
        };
        let mut told = LoggingMessageNotificationParam::new(level, data);
        told.logger = Some(logger.to_owned());
        let _ = peer.notify_logging_message(told).await;
    }

    /// Returns whether the client can show a form to a person. A client that declares no mode
    /// supports forms.
    #[must_use]
    pub fn can_elicit(&self) -> bool {
        let declared = self.capabilities.elicitation.as_ref();
        declared.is_some_and(|own| own.form.is_some() || own.url.is_none())
    }

    /// Returns whether the client can ask a person to open a web page.
    #[must_use]
    pub fn can_open_pages(&self) -> bool {
        let declared = self.capabilities.elicitation.as_ref();
        declared.is_some_and(|own| own.url.is_some())
    }

    fn can(&self, request: &InputRequest) -> bool {
        match request {
            InputRequest::Elicitation(request) => match request.params {
                ElicitRequestParams::UrlElicitationParams { .. } => self.can_open_pages(),
                _ => self.can_elicit(),
            },
            InputRequest::CreateMessage(_) => self.capabilities.sampling.is_some(),
            InputRequest::ListRoots(_) => self.capabilities.roots.is_some(),
            _ => false,
        }
    }

    /// Asks the client in the form of its revision, and waits for the raw answers.
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn ask(
        &self,
        asked: BTreeMap<String, InputRequest>,
    ) -> Result<BTreeMap<String, Value>, AskError> {
        if let Some(beyond) = asked.values().find(|request| !self.can(request)) {
            *self.missing_capability.lock().unwrap_or_else(PoisonError::into_inner) =
                required_capability(beyond);
            return Err(AskError::Unable);
        }
        if let Some(questions) = &self.questions {
            let (answers, answered) = oneshot::channel();
            let sent = questions.send(ClientQuestions { asked, answers }).await;
            sent.map_err(|_| AskError::Gone)?;
            return answered.await.map_err(|_| AskError::Gone);
        }
        let mut answers = BTreeMap::new();
        for (key, request) in asked {
            answers.insert(key, self.send_request(request).await?);
        }
        Ok(answers)
    }

    /// Forwards a question to the person at the client, with the raw parameters of
    /// `elicitation/create`.
    pub async fn elicit(&self, params: Value) -> Elicited {
        /// Key of the single question.
        const KEY: &str = "question";
        let asked = serde_json::json!({"method": "elicitation/create", "params": params});
        let Ok(asked) = serde_json::from_value::<InputRequest>(asked) else {
            return Elicited::Decline;
        };
        let answers = self.ask([(KEY.to_owned(), asked)].into()).await;
        let Some(answer) = answers.ok().and_then(|mut all| all.remove(KEY)) else {
            return Elicited::Cancel;
        };
        match answer.get("action").and_then(Value::as_str) {
            Some("accept") => Elicited::Accept(answer.get("content").cloned()),
            Some("decline") => Elicited::Decline,
            _ => Elicited::Cancel,
        }
    }

    /// Asks one question with a separate request.
    async fn send_request(&self, request: InputRequest) -> Result<Value, AskError> {
        let peer = self.peer.as_ref().ok_or(AskError::Unable)?;
        let mut request = match request {
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            _ => return Err(AskError::Unable),
        };
        // Send it on the stream of the call that it belongs to.
        let origin = OriginatingRequestId(self.request.clone());
        rmcp::model::GetExtensions::extensions_mut(&mut request).insert(origin);
        match peer.send_request(request).await.map_err(|_| AskError::Gone)? {
            ClientResult::CustomResult(answer) => Ok(answer.0),
            answer => serde_json::to_value(answer).map_err(|_| AskError::Gone),
        }
    }
}
