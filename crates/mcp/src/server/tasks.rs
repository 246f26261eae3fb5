//! Calls that go on after their request was answered (the extension `io.modelcontextprotocol/tasks`, SEP-2663): a client that takes tasks gets the id of a
//! call that is not over soon, asks how it stands, answers what it asks, and takes it back.
//!
//! They live as long as this process. What became of a call is recorded under the same id whoever asks.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolResult, DetailedTask, ErrorData, InputRequest, InputResponses, JsonObject, Task,
    TaskPayload, TaskStatus,
};
use rmcp::task_manager::current_timestamp;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::tickets::{Next, Work, is_answer};
use crate::desk::Questions;

/// How long a task that asks, or is over, can be asked for since then; one at work always can.
const LASTS: Duration = Duration::from_secs(3600);
/// How often a client should ask.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Tasks that are kept at one time; of those that are over, the oldest go first.
const MOST: usize = 1000;

/// The tasks of all clients.
#[derive(Default)]
pub(super) struct Tasks {
    open: Mutex<HashMap<String, Arc<Kept>>>,
}

/// One of them.
struct Kept {
    /// Whose it is ([`Who::client`](super::Who::client)).
    client: String,
    created: String,
    now: Mutex<Now>,
    work: Mutex<Option<AbortHandle>>,
}

/// How it stands, and since when.
struct Now {
    changed: String,
    since: Instant,
    stage: Stage,
}

impl Now {
    fn new(stage: Stage) -> Self {
        Self { changed: current_timestamp(), since: Instant::now(), stage }
    }

    /// Nobody has come for it for so long that it is given up.
    fn is_stale(&self) -> bool {
        !matches!(self.stage, Stage::Working) && self.since.elapsed() > LASTS
    }
}

enum Stage {
    Working,
    Asks {
        asked: BTreeMap<String, InputRequest>,
        given: BTreeMap<String, Value>,
        answers: oneshot::Sender<BTreeMap<String, Value>>,
    },
    Ended(Result<CallToolResult, ErrorData>),
    Cancelled,
}

impl Stage {
    fn is_over(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Cancelled)
    }
}

/// What a task ends with.
pub(super) trait Ends {
    /// The result of the call, or why there is none.
    fn result(self) -> Result<CallToolResult, ErrorData>;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn object(value: impl Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

impl Kept {
    fn set(&self, stage: Stage) {
        let mut now = lock(&self.now);
        // What is over stays as it ended.
        if !now.stage.is_over() {
            *now = Now::new(stage);
        }
    }

    fn is_stale(&self) -> bool {
        lock(&self.now).is_stale()
    }

    /// Stops its work, as if its client had gone away.
    fn stop(&self) {
        if let Some(work) = lock(&self.work).take() {
            work.abort();
        }
    }

    fn task(&self, id: &str, status: TaskStatus, changed: &str) -> Task {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Task::new(id, status, &*self.created, changed)
            .with_ttl_ms(millis(LASTS))
            .with_poll_interval_ms(millis(ASK_EVERY))
    }

    fn detailed(&self, id: &str) -> DetailedTask {
        let now = lock(&self.now);
        let payload = match &now.stage {
            Stage::Working => TaskPayload::Working,
            Stage::Asks { asked, given, .. } => {
                let open = asked.iter().filter(|(key, _)| !given.contains_key(*key));
                let open = open.map(|(key, request)| (key.clone(), request.clone()));
                TaskPayload::InputRequired { input_requests: open.collect() }
            }
            Stage::Ended(Ok(result)) => TaskPayload::Completed { result: object(result) },
            Stage::Ended(Err(error)) => TaskPayload::Failed { error: object(error) },
            Stage::Cancelled => TaskPayload::Cancelled,
        };
        DetailedTask::new(self.task(id, payload.status(), &now.changed), payload)
    }

    /// Takes answers; goes on when there is one to each question.
    fn answer(&self, mut new: InputResponses) {
        let mut now = lock(&self.now);
        let Stage::Asks { asked, given, .. } = &mut now.stage else { return };
        new.retain(|key, answer| asked.get(key).is_some_and(|asked| is_answer(asked, answer)));
        given.append(&mut new);
        if given.len() < asked.len() {
            return;
        }
        let before = std::mem::replace(&mut *now, Now::new(Stage::Working));
        if let Stage::Asks { given, answers, .. } = before.stage {
            // Work that does not wait any more has ended, which it says itself.
            let _ = answers.send(given);
        }
    }
}

fn unknown(id: &str) -> ErrorData {
    let words = format!("there is no task {id}: it is over for long, or another program's");
    ErrorData::invalid_params(words, None)
}

impl Tasks {
    /// Keeps work that is not over; it is known under its id from now on.
    pub(super) fn keep<T: Ends + Send + 'static>(
        &self,
        client: &str,
        id: &str,
        work: Work<T>,
    ) -> Task {
        let now = Now::new(Stage::Working);
        let kept = Arc::new(Kept {
            client: client.to_owned(),
            created: now.changed.clone(),
            now: Mutex::new(now),
            work: Mutex::default(),
        });
        let mut open = lock(&self.open);
        open.retain(|_, kept| {
            let is_stale = kept.is_stale();
            if is_stale {
                kept.stop();
            }
            !is_stale
        });
        if open.len() >= MOST {
            let over = open.iter().filter_map(|(id, kept)| {
                let now = lock(&kept.now);
                now.stage.is_over().then_some((now.since, id))
            });
            let oldest = over.min_by_key(|(since, _)| *since).map(|(_, id)| id.clone());
            oldest.map(|id| open.remove(&id));
        }
        open.insert(id.to_owned(), Arc::clone(&kept));
        drop(open);
        let driver = tokio::spawn(drive(Arc::clone(&kept), work));
        *lock(&kept.work) = Some(driver.abort_handle());
        kept.task(id, TaskStatus::Working, &kept.created)
    }

    fn of(&self, client: &str, id: &str) -> Result<Arc<Kept>, ErrorData> {
        let kept = lock(&self.open).get(id).cloned();
        kept.filter(|kept| kept.client == client && !kept.is_stale()).ok_or_else(|| unknown(id))
    }

    /// How a task stands.
    pub(super) fn get(&self, client: &str, id: &str) -> Result<DetailedTask, ErrorData> {
        Ok(self.of(client, id)?.detailed(id))
    }

    /// Takes answers to what it asks. What was not asked, or is no answer to it, is left out.
    pub(super) fn update(
        &self,
        client: &str,
        id: &str,
        answers: InputResponses,
    ) -> Result<(), ErrorData> {
        self.of(client, id)?.answer(answers);
        Ok(())
    }

    /// Takes a task back. The call is stopped as if its client had gone away; one that is over stays as it ended.
    pub(super) fn cancel(&self, client: &str, id: &str) -> Result<(), ErrorData> {
        let kept = self.of(client, id)?;
        kept.set(Stage::Cancelled);
        kept.stop();
        Ok(())
    }
}

/// Goes on with work to its end.
async fn drive<T: Ends + Send + 'static>(kept: Arc<Kept>, mut work: Work<T>) {
    loop {
        match work.next().await {
            Ok(Next::Asks(Questions { asked, answers })) => {
                kept.set(Stage::Asks { asked, given: BTreeMap::new(), answers });
            }
            Ok(Next::Done(done)) => return kept.set(Stage::Ended(done.result())),
            Err(error) => return kept.set(Stage::Ended(Err(error))),
        }
    }
}
