//! The calls of our clients that are at work, each with the way back to its client: how far it is, what it has to ask.
//!
//! A tool does not see who calls it. A tool of ours that is itself a server of somebody else has things to pass on, and finds the way here, by
//! the id of its call.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

#[expect(deprecated, reason = "clients of the older revisions have it")]
use rmcp::model::{
    ClientCapabilities, ClientResult, InputRequest, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, RequestId, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, RoleServer};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::CallId;

use crate::client::Elicited;

/// The calls at work.
#[derive(Clone, Default)]
pub struct Desk {
    calls: Arc<Mutex<HashMap<CallId, Arc<Caller>>>>,
}

/// Whoever waits for a call: one request of a client.
pub struct Caller {
    /// The way to it; `None` = there is none but the answer.
    pub(crate) peer: Option<Peer<RoleServer>>,
    pub(crate) request: RequestId,
    pub(crate) progress: Option<ProgressToken>,
    pub(crate) capabilities: ClientCapabilities,
    /// Whether it wants lines for its log. Today's revision says so in each request.
    pub(crate) logs: bool,
    /// What it would have had to declare for a question that could not be put to it.
    pub(crate) lacks: Mutex<Option<ClientCapabilities>>,
    /// Where questions go when the client is asked by an answer, as today's revision has it; `None` = it is asked by a request of ours.
    pub(crate) questions: Option<mpsc::Sender<Questions>>,
}

/// What is asked in one go, by a key each, and where the answers go.
pub(crate) struct Questions {
    pub(crate) asked: BTreeMap<String, InputRequest>,
    pub(crate) answers: oneshot::Sender<BTreeMap<String, Value>>,
}

/// Why a client was not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    /// It cannot answer such a question, and did not say that it could.
    #[error("the client did not declare that it can answer this")]
    Unable,
    /// It went away, or did not answer in a way that can be read.
    #[error("the client gave no answer")]
    Gone,
}

impl Desk {
    /// The client that waits for this call; `None` = it came another way, or has ended.
    #[must_use]
    pub fn caller(&self, call: CallId) -> Option<Arc<Caller>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(&call).cloned()
    }

    /// A call begins.
    pub(crate) fn enter(&self, call: CallId, caller: Arc<Caller>) -> AtDesk {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(call, caller);
        AtDesk { desk: self.clone(), call }
    }
}

/// A call on the desk; off it when dropped.
pub(crate) struct AtDesk {
    desk: Desk,
    call: CallId,
}

impl Drop for AtDesk {
    fn drop(&mut self) {
        self.desk.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

/// What a client declares that can answer this.
fn needed(request: &InputRequest) -> Option<ClientCapabilities> {
    let name = match request {
        InputRequest::Elicitation(_) => "elicitation",
        InputRequest::CreateMessage(_) => "sampling",
        InputRequest::ListRoots(_) => "roots",
        _ => return None,
    };
    serde_json::from_value(serde_json::json!({ name: {} })).ok()
}

impl Caller {
    /// Says how far the call is, if the client wants to know.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let (Some(peer), Some(token)) = (&self.peer, self.progress.clone()) else { return };
        let mut told = ProgressNotificationParam::new(token, done);
        (told.total, told.message) = (total, message);
        // A client that went away is found out when its call ends.
        let _ = peer.notify_progress(told).await;
    }

    /// A line for the client's log.
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

    /// Whether a person can be asked with a form.
    #[must_use]
    pub fn can_elicit(&self) -> bool {
        self.capabilities.elicitation.is_some()
    }

    fn can(&self, request: &InputRequest) -> bool {
        match request {
            InputRequest::Elicitation(_) => self.can_elicit(),
            InputRequest::CreateMessage(_) => self.capabilities.sampling.is_some(),
            InputRequest::ListRoots(_) => self.capabilities.roots.is_some(),
            _ => false,
        }
    }

    /// Puts questions to the client, as its revision has it, and waits for the answers, which are as the client gave them.
    ///
    /// # Errors
    /// [`NotAsked`].
    pub async fn ask(
        &self,
        asked: BTreeMap<String, InputRequest>,
    ) -> Result<BTreeMap<String, Value>, NotAsked> {
        if let Some(beyond) = asked.values().find(|request| !self.can(request)) {
            *self.lacks.lock().unwrap_or_else(PoisonError::into_inner) = needed(beyond);
            return Err(NotAsked::Unable);
        }
        if let Some(questions) = &self.questions {
            let (answers, answered) = oneshot::channel();
            let sent = questions.send(Questions { asked, answers }).await;
            sent.map_err(|_| NotAsked::Gone)?;
            return answered.await.map_err(|_| NotAsked::Gone);
        }
        let mut answers = BTreeMap::new();
        for (key, request) in asked {
            answers.insert(key, self.ask_at_once(request).await?);
        }
        Ok(answers)
    }

    /// Puts a question of somebody else to the person at the client: the parameters of an `elicitation/create` as they came.
    pub async fn elicit(&self, params: Value) -> Elicited {
        /// The key under which the one question stands.
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

    /// One question, as a request of ours.
    async fn ask_at_once(&self, request: InputRequest) -> Result<Value, NotAsked> {
        let peer = self.peer.as_ref().ok_or(NotAsked::Unable)?;
        let mut request = match request {
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            _ => return Err(NotAsked::Unable),
        };
        // So that it goes out on the stream of the call that it belongs to.
        let origin = OriginatingRequestId(self.request.clone());
        rmcp::model::GetExtensions::extensions_mut(&mut request).insert(origin);
        match peer.send_request(request).await.map_err(|_| NotAsked::Gone)? {
            ClientResult::CustomResult(answer) => Ok(answer.0),
            answer => serde_json::to_value(answer).map_err(|_| NotAsked::Gone),
        }
    }
}
