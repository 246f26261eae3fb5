//! Requests that go on beside their answer: their client comes back with answers, or for the result.

use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, ErrorData, GetPromptResult, InputResponses,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_core::canonical;

use super::Serve;
use crate::desk::Questions;
use crate::server::Who;
use crate::server::tasks::Ends;
use crate::server::tickets::{Step, Tickets, Work};

/// What a request that may ask ends with.
pub(super) enum Reply {
    Tool(Result<CallToolResult, ErrorData>),
    Prompt(Result<GetPromptResult, ErrorData>),
}

/// What a request is about that comes back with answers: nobody else's, and nothing else.
pub(super) fn about(
    who: &Who,
    kind: &str,
    name: &str,
    arguments: Option<&Map<String, Value>>,
) -> String {
    let arguments = Value::Object(arguments.cloned().unwrap_or_default());
    canonical::sha256_parts(&[&who.client, kind, name, &canonical::to_string(&arguments)])
}

/// What is needed to go on with work in another request.
pub(super) struct Aside {
    pub(super) about: String,
    pub(super) id: String,
    pub(super) questions: mpsc::Receiver<Questions>,
    /// Whose task it becomes if it is not over soon; `None` = it is waited for.
    pub(super) task_of: Option<String>,
}

impl Serve {
    /// Work of a request: in place where it is told of by requests, aside where the client comes back for it.
    pub(super) async fn run<F>(
        &self,
        aside: Option<Aside>,
        stop: Option<&CancellationToken>,
        work: F,
    ) -> Result<Step<Reply>, ErrorData>
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let Some(Aside { about, id, questions, task_of }) = aside else {
            return unless_stopped(stop, async { Ok(Step::Done(work.await)) }).await;
        };
        let work = Tickets::begin(about, id, questions, work);
        unless_stopped(stop, self.follow(work, task_of.as_deref())).await
    }

    /// Goes on until the work is done or asks, or so long that it is made a task of this client.
    async fn follow(
        &self,
        mut work: Work<Reply>,
        task_of: Option<&str>,
    ) -> Result<Step<Reply>, ErrorData> {
        let next = match task_of {
            None => work.next().await,
            Some(client) => match tokio::time::timeout(self.0.soon, work.next()).await {
                Ok(next) => next,
                Err(_) => {
                    let id = work.id.clone();
                    return Ok(Step::Later(self.0.tasks.keep(client, &id, work)));
                }
            },
        };
        self.0.tickets.step(work, next?)
    }

    /// A request that comes back with answers.
    pub(super) async fn comes_back(
        &self,
        about: &str,
        state: &str,
        given: Option<InputResponses>,
        task_of: Option<&str>,
        stop: &CancellationToken,
    ) -> Result<Step<Reply>, ErrorData> {
        match self.0.tickets.take_up(about, state, given)? {
            Ok(work) => unless_stopped(Some(stop), self.follow(work, task_of)).await,
            Err(again) => Ok(Step::Asks(again)),
        }
    }
}

/// Something that is given up when its client takes the request back.
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

impl Step<Reply> {
    /// What a call of a tool is answered.
    pub(super) fn of_tool(self) -> Result<CallToolResponse, ErrorData> {
        match self {
            Self::Done(Reply::Tool(result)) => result.map(CallToolResponse::Complete),
            Self::Done(Reply::Prompt(_)) => Err(mixed_up()),
            Self::Asks(asks) => Ok(CallToolResponse::InputRequired(asks)),
            Self::Later(task) => Ok(CallToolResponse::Task(CreateTaskResult::new(task))),
        }
    }
}

impl Ends for Reply {
    fn result(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Self::Tool(result) => result,
            Self::Prompt(_) => Err(mixed_up()),
        }
    }
}

/// The ticket of one kind of request came with another.
pub(super) fn mixed_up() -> ErrorData {
    ErrorData::invalid_params("requestState belongs to another request", None)
}
