//! Requests that wait for answers of their client, where a revision has the client come back with them: the work stays here, and the client gets
//! a ticket that nobody can forge.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    ErrorData, InputRequest, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions,
    Task,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::desk::Questions;

/// How long a client has to come back.
const TIME: Duration = Duration::from_secs(600);
/// Requests that wait at one time; the oldest go first.
const MOST: usize = 1000;

/// Work that may ask, and what it is about: whose request for what.
pub(super) struct Work<T> {
    task: JoinHandle<T>,
    questions: mpsc::Receiver<Questions>,
    about: String,
    /// The name of the call, under which it goes on where it is not waited for.
    pub(super) id: String,
}

/// What work comes to next.
pub(super) enum Next<T> {
    Done(T),
    Asks(Questions),
}

impl<T> Work<T> {
    /// Waits until it is done or asks. Dropped in between, nothing is lost.
    pub(super) async fn next(&mut self) -> Result<Next<T>, ErrorData> {
        tokio::select! {
            biased;
            Some(questions) = self.questions.recv() => Ok(Next::Asks(questions)),
            done = &mut self.task => {
                done.map(Next::Done).map_err(|_| ErrorData::internal_error("the request broke", None))
            }
        }
    }
}

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How far work has come.
pub(super) enum Step<T> {
    Done(T),
    Asks(InputRequiredResult),
    /// It goes on, and is asked for.
    Later(Task),
}

struct Waiting<T> {
    work: Work<T>,
    asked: BTreeMap<String, InputRequest>,
    answers: oneshot::Sender<BTreeMap<String, Value>>,
    since: Instant,
}

#[derive(Serialize, Deserialize)]
struct Ticket {
    number: u64,
}

/// The requests that wait.
pub(super) struct Tickets<T> {
    codec: RequestStateCodec,
    waiting: Mutex<(u64, HashMap<u64, Waiting<T>>)>,
}

impl<T: Send + 'static> Tickets<T> {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { codec: RequestStateCodec::new_unchecked(key.to_vec()), waiting: Mutex::default() }
    }

    /// Begins work that may ask.
    pub(super) fn begin(
        about: String,
        id: String,
        questions: mpsc::Receiver<Questions>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Work<T> {
        Work { task: tokio::spawn(work), questions, about, id }
    }

    /// What a client is told of what its work came to.
    pub(super) fn step(&self, work: Work<T>, next: Next<T>) -> Result<Step<T>, ErrorData> {
        match next {
            Next::Done(done) => Ok(Step::Done(done)),
            Next::Asks(questions) => self.put_aside(work, questions),
        }
    }

    fn put_aside(&self, work: Work<T>, questions: Questions) -> Result<Step<T>, ErrorData> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, open) = &mut *waiting;
        open.retain(|_, waiting| waiting.since.elapsed() < TIME);
        if open.len() >= MOST
            && let Some(oldest) = open.iter().min_by_key(|(_, w)| w.since).map(|(n, _)| *n)
        {
            open.remove(&oldest);
        }
        *last += 1;
        let number = *last;
        let options = SealOptions::new().associated_data(work.about.as_bytes()).ttl(TIME);
        let state = self.codec.seal_json_with(&Ticket { number }, &options);
        let state = state.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let Questions { asked, answers } = questions;
        let result = InputRequiredResult::new(Some(asked.clone()), Some(state));
        let since = Instant::now();
        open.insert(number, Waiting { work, asked, answers, since });
        Ok(Step::Asks(result))
    }

    /// Takes up what waits under this state, with these answers. `Ok(Err(..))` = answers are missing or of no use, and it asks again.
    pub(super) fn take_up(
        &self,
        about: &str,
        state: &str,
        given: Option<InputResponses>,
    ) -> Result<Result<Work<T>, InputRequiredResult>, ErrorData> {
        let forged =
            || ErrorData::invalid_params("requestState is not one of ours, or too old", None);
        let ticket: Ticket =
            self.codec.open_json_with(state, about.as_bytes()).map_err(|_| forged())?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let open = &mut waiting.1;
        let asked = &open.get(&ticket.number).ok_or_else(forged)?.asked;
        let mut given = given.unwrap_or_default();
        let usable = |key: &String, request: &InputRequest| {
            given.get(key).is_some_and(|answer| is_answer(request, answer))
        };
        if !asked.iter().all(|(key, request)| usable(key, request)) {
            let again = InputRequiredResult::new(Some(asked.clone()), Some(state.to_owned()));
            return Ok(Err(again));
        }
        let Some(Waiting { work, asked, answers, .. }) = open.remove(&ticket.number) else {
            return Err(forged());
        };
        given.retain(|key, _| asked.contains_key(key));
        // Work that does not wait any more has ended, which is found out next.
        let _ = answers.send(given);
        Ok(Ok(work))
    }
}

/// Whether this can be the answer to that.
pub(super) fn is_answer(request: &InputRequest, answer: &Value) -> bool {
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
