//! Detached requests: work that continues after the response, because the client returns with
//! answers or for the result.

use std::sync::Arc;

use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, ErrorData, GetPromptResult, InputResponses,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_core::canonical_json;

use super::McpServer;
use crate::client_channel::{ClientChannel, ClientQuestions, ProgressRoute};
use crate::server::ClientIdentity;
use crate::server::request_state::{ClientRequestTask, PendingRequests, RequestStep};
use crate::server::tasks::IntoToolResult;

/// The final reply of a request that may ask questions.
pub(super) enum DetachedReply {
    Tool(Result<CallToolResult, ErrorData>),
    Prompt(Result<GetPromptResult, ErrorData>),
}

/// Binds a request state to client, kind, name and arguments, so that it cannot be used for another
/// request.
pub(super) fn request_binding(
    who: &ClientIdentity,
    kind: &str,
    name: &str,
    arguments: Option<&Map<String, Value>>,
) -> String {
    let arguments = Value::Object(arguments.cloned().unwrap_or_default());
    canonical_json::sha256_parts(&[&who.client, kind, name, &canonical_json::to_string(&arguments)])
}

/// Data for continuing the work in another request.
pub(super) struct DetachedRequest {
    pub(super) about: String,
    pub(super) id: String,
    pub(super) questions: mpsc::Receiver<ClientQuestions>,
    /// The client that gets a task if the work takes long; `None` to wait for the result.
    pub(super) task_of: Option<String>,
    /// The channel of its client.
    pub(super) caller: Arc<ClientChannel>,
}

/// The answers of a returning client.
pub(super) struct ClientAnswers {
    pub(super) given: Option<InputResponses>,
    /// The request that waits from now on, if it requested progress.
    pub(super) waiting: Option<ProgressRoute>,
}

impl McpServer {
    /// Runs the work of a request: inline if the client accepts requests, detached if it returns
    /// with answers.
    pub(super) async fn run<F>(
        &self,
        aside: Option<DetachedRequest>,
        stop: Option<&CancellationToken>,
        work: F,
    ) -> Result<RequestStep<DetachedReply>, ErrorData>
    where
        F: Future<Output = DetachedReply> + Send + 'static,
    {
        let Some(DetachedRequest { about, id, questions, task_of, caller }) = aside else {
            return unless_stopped(stop, async { Ok(RequestStep::Done(work.await)) }).await;
        };
        let work = PendingRequests::spawn(about, id, (caller, questions), work);
        unless_stopped(stop, self.follow(work, task_of.as_deref())).await
    }

    /// Waits until the work ends or asks, or becomes a task of this client.
    async fn follow(
        &self,
        mut work: ClientRequestTask<DetachedReply>,
        task_of: Option<&str>,
    ) -> Result<RequestStep<DetachedReply>, ErrorData> {
        let next = match task_of {
            None => work.next().await,
            Some(client) => match tokio::time::timeout(self.0.soon, work.next()).await {
                Ok(next) => next,
                Err(_) => {
                    let id = work.id.clone();
                    return Ok(RequestStep::Later(self.0.tasks.spawn(client, &id, work)));
                }
            },
        };
        self.0.tickets.step(work, next?)
    }

    /// Resumes a request with the client's answers.
    pub(super) async fn resume_with_answers(
        &self,
        about: &str,
        state: &str,
        answers: ClientAnswers,
        task_of: Option<&str>,
        stop: &CancellationToken,
    ) -> Result<RequestStep<DetachedReply>, ErrorData> {
        let ClientAnswers { given, waiting } = answers;
        match self.0.tickets.resume(about, state, given)? {
            Ok(work) => {
                work.caller.set_waiting(waiting);
                unless_stopped(Some(stop), self.follow(work, task_of)).await
            }
            Err(again) => Ok(RequestStep::Asks(again)),
        }
    }
}

/// Runs a future until its request is cancelled.
async fn unless_stopped<T>(
    stop: Option<&CancellationToken>,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let Some(stop) = stop else { return work.await };
    tokio::select! {
        done = work => done,
        () = stop.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
    }
}

impl RequestStep<DetachedReply> {
    /// Converts it into the response of a tool call.
    pub(super) fn into_tool_response(self) -> Result<CallToolResponse, ErrorData> {
        match self {
            Self::Done(DetachedReply::Tool(result)) => result.map(CallToolResponse::Complete),
            Self::Done(DetachedReply::Prompt(_)) => Err(wrong_reply_kind()),
            Self::Asks(asks) => Ok(CallToolResponse::InputRequired(asks)),
            Self::Later(task) => Ok(CallToolResponse::Task(CreateTaskResult::new(task))),
        }
    }
}

impl IntoToolResult for DetachedReply {
    fn result(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Self::Tool(result) => result,
            Self::Prompt(_) => Err(wrong_reply_kind()),
        }
    }
}

/// Creates the error for a request state of another kind of request.
pub(super) fn wrong_reply_kind() -> ErrorData {
    ErrorData::invalid_params("requestState belongs to another request", None)
}
