//! MCP tasks: calls that continue after their response (extension `io.modelcontextprotocol/tasks`,
//! SEP-2663). A client that supports tasks gets the id of a call that takes long; it then polls the
//! state, answers questions, and may cancel the call.
//!
//! Tasks exist only in this process. The outcome of the call is always recorded under the same id.

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

use super::request_state::{ClientRequestTask, TaskProgress, is_valid_answer};
use crate::client_channel::ClientQuestions;

/// How long a task that asks or has ended can be polled; a running task can always be polled.
const TASK_TTL: Duration = Duration::from_secs(3600);
/// The poll interval suggested to clients.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum tasks; if there are more, the oldest ended tasks are dropped first.
const MAX_TASKS: usize = 1000;

/// The tasks of all clients.
#[derive(Default)]
pub(super) struct McpTasks {
    open: Mutex<HashMap<String, Arc<TaskEntry>>>,
}

/// One task.
struct TaskEntry {
    /// Its client ([`ClientIdentity::client`](super::ClientIdentity::client)).
    client: String,
    created: String,
    now: Mutex<CurrentStage>,
    work: Mutex<Option<AbortHandle>>,
}

/// Its state, and the time of the last change.
struct CurrentStage {
    changed: String,
    since: Instant,
    stage: Stage,
}

impl CurrentStage {
    fn new(stage: Stage) -> Self {
        Self { changed: current_timestamp(), since: Instant::now(), stage }
    }

    /// Returns whether the client has not polled the task for so long that it is dropped.
    fn is_stale(&self) -> bool {
        !matches!(self.stage, Stage::Working) && self.since.elapsed() > TASK_TTL
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

/// The result type of a task's work.
pub(super) trait IntoToolResult {
    /// Returns the result of the call, or a JSON-RPC error.
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

impl TaskEntry {
    fn set(&self, stage: Stage) {
        let mut now = lock(&self.now);
        // The final state never changes.
        if !now.stage.is_over() {
            *now = CurrentStage::new(stage);
        }
    }

    fn is_stale(&self) -> bool {
        lock(&self.now).is_stale()
    }

    /// Cancels its work, as if the client had disconnected.
    fn stop(&self) {
        if let Some(work) = lock(&self.work).take() {
            work.abort();
        }
    }

    fn task(&self, id: &str, status: TaskStatus, changed: &str) -> Task {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Task::new(id, status, &*self.created, changed)
            .with_ttl_ms(millis(TASK_TTL))
            .with_poll_interval_ms(millis(POLL_INTERVAL))
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

    /// Adds answers; the work continues once every question has an answer.
    fn answer(&self, mut new: InputResponses) {
        let mut now = lock(&self.now);
        let Stage::Asks { asked, given, .. } = &mut now.stage else { return };
        new.retain(|key, answer| {
            asked.get(key).is_some_and(|asked| is_valid_answer(asked, answer))
        });
        given.append(&mut new);
        if given.len() < asked.len() {
            return;
        }
        let before = std::mem::replace(&mut *now, CurrentStage::new(Stage::Working));
        if let Stage::Asks { given, answers, .. } = before.stage {
            // If the work has ended meanwhile, it reports that itself.
            let _ = answers.send(given);
        }
    }
}

fn unknown(id: &str) -> ErrorData {
    let words = format!("there is no task {id}: it ended long ago, or belongs to another client");
    ErrorData::invalid_params(words, None)
}

impl McpTasks {
    /// Registers unfinished work as a task under its id.
    pub(super) fn spawn<T: IntoToolResult + Send + 'static>(
        &self,
        client: &str,
        id: &str,
        work: ClientRequestTask<T>,
    ) -> Task {
        let now = CurrentStage::new(Stage::Working);
        let kept = Arc::new(TaskEntry {
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
        if open.len() >= MAX_TASKS {
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

    fn find(&self, client: &str, id: &str) -> Result<Arc<TaskEntry>, ErrorData> {
        let kept = lock(&self.open).get(id).cloned();
        kept.filter(|kept| kept.client == client && !kept.is_stale()).ok_or_else(|| unknown(id))
    }

    /// Returns the state of a task.
    pub(super) fn get(&self, client: &str, id: &str) -> Result<DetailedTask, ErrorData> {
        Ok(self.find(client, id)?.detailed(id))
    }

    /// Adds answers to its questions. Unknown or invalid ones are ignored.
    pub(super) fn update(
        &self,
        client: &str,
        id: &str,
        answers: InputResponses,
    ) -> Result<(), ErrorData> {
        self.find(client, id)?.answer(answers);
        Ok(())
    }

    /// Cancels a task, as if the client had disconnected; an ended task is unchanged.
    pub(super) fn cancel(&self, client: &str, id: &str) -> Result<(), ErrorData> {
        let kept = self.find(client, id)?;
        kept.set(Stage::Cancelled);
        kept.stop();
        Ok(())
    }
}

/// Drives the work of a task to its end.
async fn drive<T: IntoToolResult + Send + 'static>(
    kept: Arc<TaskEntry>,
    mut work: ClientRequestTask<T>,
) {
    loop {
        match work.next().await {
            Ok(TaskProgress::Asks(ClientQuestions { asked, answers })) => {
                kept.set(Stage::Asks { asked, given: BTreeMap::new(), answers });
            }
            Ok(TaskProgress::Done(done)) => return kept.set(Stage::Ended(done.result())),
            Err(error) => return kept.set(Stage::Ended(Err(error))),
        }
    }
}
