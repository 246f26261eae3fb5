//! Pending requests of clients that return with answers to our questions: the work stays in this
//! process, and the client gets a signed request state.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    ErrorData, InputRequest, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions,
    Task,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::client_channel::{ClientChannel, ClientQuestions};

/// How long a client has to return.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum number of pending requests; the oldest are dropped first.
const MAX_WAITING: usize = 1000;

/// Work that may ask questions, and the request that it is bound to.
pub(super) struct ClientRequestTask<T> {
    task: JoinHandle<T>,
    questions: mpsc::Receiver<ClientQuestions>,
    about: String,
    /// The channel of its client.
    pub(super) caller: Arc<ClientChannel>,
    /// Id of the call, which becomes the task id if the client does not wait.
    pub(super) id: String,
}

/// The next event of the work.
pub(super) enum TaskProgress<T> {
    Done(T),
    Asks(ClientQuestions),
}

impl<T> ClientRequestTask<T> {
    /// Waits until the work ends or asks. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<TaskProgress<T>, ErrorData> {
        tokio::select! {
            biased;
            Some(questions) = self.questions.recv() => Ok(TaskProgress::Asks(questions)),
            done = &mut self.task => {
                done.map(TaskProgress::Done).map_err(|_| ErrorData::internal_error("the request broke", None))
            }
        }
    }
}

impl<T> Drop for ClientRequestTask<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The state of the work for the client.
pub(super) enum RequestStep<T> {
    Done(T),
    Asks(InputRequiredResult),
    /// It continues as a task.
    Later(Task),
}

struct WaitingRequest<T> {
    work: ClientRequestTask<T>,
    asked: BTreeMap<String, InputRequest>,
    answers: oneshot::Sender<BTreeMap<String, Value>>,
    since: Instant,
}

#[derive(Serialize, Deserialize)]
struct RequestState {
    number: u64,
}

/// The pending requests.
pub(super) struct PendingRequests<T> {
    codec: RequestStateCodec,
    waiting: Mutex<(u64, HashMap<u64, WaitingRequest<T>>)>,
}

impl<T: Send + 'static> PendingRequests<T> {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { codec: RequestStateCodec::new_unchecked(key.to_vec()), waiting: Mutex::default() }
    }

    /// Starts work that may ask questions.
    pub(super) fn spawn(
        about: String,
        id: String,
        (caller, questions): (Arc<ClientChannel>, mpsc::Receiver<ClientQuestions>),
        work: impl Future<Output = T> + Send + 'static,
    ) -> ClientRequestTask<T> {
        ClientRequestTask { task: tokio::spawn(work), questions, about, caller, id }
    }

    /// Converts an event of the work into a step for the client.
    pub(super) fn step(
        &self,
        work: ClientRequestTask<T>,
        next: TaskProgress<T>,
    ) -> Result<RequestStep<T>, ErrorData> {
        match next {
            TaskProgress::Done(done) => Ok(RequestStep::Done(done)),
            TaskProgress::Asks(questions) => self.suspend(work, questions),
        }
    }

    fn suspend(
        &self,
        work: ClientRequestTask<T>,
        questions: ClientQuestions,
    ) -> Result<RequestStep<T>, ErrorData> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, open) = &mut *waiting;
        open.retain(|_, waiting| waiting.since.elapsed() < ANSWER_TIMEOUT);
        if open.len() >= MAX_WAITING
            && let Some(oldest) = open.iter().min_by_key(|(_, w)| w.since).map(|(n, _)| *n)
        {
            open.remove(&oldest);
        }
        *last += 1;
        let number = *last;
        let options = SealOptions::new().associated_data(work.about.as_bytes()).ttl(ANSWER_TIMEOUT);
        let state = self.codec.seal_json_with(&RequestState { number }, &options);
        let state = state.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let ClientQuestions { asked, answers } = questions;
        let result = InputRequiredResult::new(Some(asked.clone()), Some(state));
        let since = Instant::now();
        open.insert(number, WaitingRequest { work, asked, answers, since });
        Ok(RequestStep::Asks(result))
    }

    /// Resumes the work of this state with these answers. `Ok(Err(..))` means that answers are
    /// missing or invalid; the questions are then asked again.
    pub(super) fn resume(
        &self,
        about: &str,
        state: &str,
        given: Option<InputResponses>,
    ) -> Result<Result<ClientRequestTask<T>, InputRequiredResult>, ErrorData> {
        let forged =
            || ErrorData::invalid_params("requestState is not one of ours, or too old", None);
        let ticket: RequestState =
            self.codec.open_json_with(state, about.as_bytes()).map_err(|_| forged())?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let open = &mut waiting.1;
        let asked = &open.get(&ticket.number).ok_or_else(forged)?.asked;
        let mut given = given.unwrap_or_default();
        let usable = |key: &String, request: &InputRequest| {
            given.get(key).is_some_and(|answer| is_valid_answer(request, answer))
        };
        if !asked.iter().all(|(key, request)| usable(key, request)) {
            let again = InputRequiredResult::new(Some(asked.clone()), Some(state.to_owned()));
            return Ok(Err(again));
        }
        let Some(WaitingRequest { work, asked, answers, .. }) = open.remove(&ticket.number) else {
            return Err(forged());
        };
        given.retain(|key, _| asked.contains_key(key));
        // If the work has ended meanwhile, the next step reports that.
        let _ = answers.send(given);
        Ok(Ok(work))
    }
}

/// Returns whether the answer matches the question.
pub(super) fn is_valid_answer(request: &InputRequest, answer: &Value) -> bool {
    match request {
        InputRequest::Elicitation(_) => {
            let action = answer.get("action").and_then(Value::as_str);
            matches!(action, Some("accept" | "decline" | "cancel"))
        }
        InputRequest::CreateMessage(_) => answer.get("content").is_some(),
        InputRequest::ListRoots(_) => answer.get("roots").is_some_and(Value::is_array),
        _ => false,
    }
}
