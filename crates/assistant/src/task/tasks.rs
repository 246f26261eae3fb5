//! The tasks of all owners.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Mutex;
use toolcrib_core::{
    Clock, StoreError, SystemClock, Task, TaskEvent, TaskId, TaskKind, TaskStatus, TaskStore,
};

use super::error::TaskError;
use super::lifecycle;
use super::new_task::NewTask;
use crate::SecretCheck;
use crate::secret_shapes;
use crate::time::{TimeError, describe, parse_zone};

/// Maximum open tasks of one owner: the number with which the scheduler is measured.
pub const MAX_TASKS: usize = 10_000;
/// Maximum open tasks of one owner that models have created.
pub const MAX_MODEL_TASKS: usize = 200;
/// Maximum number of goals and tasks that start one another before a task: a person's task may
/// create a task, which may create another one.
pub const MAX_DEPTH: u32 = 2;
/// Maximum tasks that models may create for one owner within an hour: one a minute, more than
/// planning a whole week needs, and fewer than a loop creates within minutes.
pub const MAX_MODEL_TASKS_PER_HOUR: usize = 60;
/// An hour in milliseconds.
const HOUR_MS: i64 = 3_600_000;
/// Maximum waiting events of one task.
pub const MAX_EVENTS: usize = 100;
/// Number of stored keys of events, so that none is accepted twice: more than arrive while a
/// signature is valid.
const TAKEN_EVENTS: usize = 1_000;
/// Maximum waking tasks that are read for a prompt, of all owners: a prompt shows ten, and reading
/// then costs the same with 10,000 tasks.
const PROMPT_TASKS: usize = 64;
/// Maximum attempts at a change while other processes change the same task.
const ATTEMPTS: usize = 8;

/// The tasks of all owners. Clones share them.
#[derive(Clone)]
pub struct Tasks {
    store: Arc<dyn TaskStore>,
    clock: Arc<dyn Clock>,
    is_secret: SecretCheck,
    /// Held while limits are checked, because the calls of a batch run concurrently.
    adding: Arc<Mutex<()>>,
}

impl Tasks {
    /// Creates tasks in this store.
    #[must_use]
    pub fn new(store: Arc<dyn TaskStore>, is_secret: SecretCheck) -> Self {
        Self { store, clock: Arc::new(SystemClock), is_secret, adding: Arc::default() }
    }

    /// Sets another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the store of the tasks.
    #[must_use]
    pub fn store(&self) -> &dyn TaskStore {
        &*self.store
    }

    /// Returns the current time.
    ///
    /// # Errors
    /// [`TaskError::Time`] if the clock of this machine is wrong.
    pub fn now(&self) -> Result<Timestamp, TaskError> {
        Ok(instant(self.clock.now_ms())?)
    }

    /// Creates a task. A task with untrusted text is paused until a person resumes it. An alarm is
    /// not, because its text is only shown.
    ///
    /// # Errors
    /// [`TaskError`] if it cannot be created.
    pub async fn add(&self, new: NewTask) -> Result<Task, TaskError> {
        new.check_texts()?;
        let is_secret = |text: &str| (self.is_secret)(text) || secret_shapes::occur_in(text);
        if is_secret(&new.prompt) || is_secret(&new.description) {
            return Err(TaskError::Secret);
        }
        let zone = parse_zone(new.zone.as_deref())?;
        let now_ms = self.clock.now_ms();
        let now = instant(now_ms)?;
        let (trigger, due) = new.when.trigger(&zone, now)?;
        let _adding = self.adding.lock().await;
        self.check_room(&new, now_ms).await?;
        let status = match new.untrusted {
            Some(_) if new.kind != TaskKind::Alarm => TaskStatus::Paused,
            _ => TaskStatus::Pending,
        };
        let task = Task {
            description: new.description.trim().to_owned(),
            prompt: new.prompt.trim().to_owned(),
            zone: zone.iana_name().unwrap_or("UTC").to_owned(),
            agent: new.agent,
            surroundings: new.surroundings,
            status,
            due_at: due.map(Timestamp::as_millisecond),
            depth: new.depth,
            untrusted: new.untrusted,
            author: new.author,
            ..Task::new(TaskId::fresh(), new.owner, new.kind, trigger, now_ms)
        };
        self.store.add_task(task.clone()).await?;
        Ok(task)
    }

    /// Checks that the limits allow a task, and that a model may create it.
    async fn check_room(&self, new: &NewTask, now_ms: i64) -> Result<(), TaskError> {
        let all = self.store.tasks(&new.owner).await?;
        let open = || all.iter().filter(|task| task.is_open());
        if open().count() >= MAX_TASKS {
            return Err(TaskError::Full);
        }
        if new.author.call.is_none() {
            return Ok(());
        }
        let by_models = |task: &&Task| task.author.call.is_some();
        if open().filter(by_models).count() >= MAX_MODEL_TASKS {
            return Err(TaskError::ModelsFull);
        }
        if new.depth > MAX_DEPTH {
            return Err(TaskError::TooDeep);
        }
        let is_recent = |task: &&Task| by_models(task) && task.created_at > now_ms - HOUR_MS;
        if all.iter().filter(is_recent).count() >= MAX_MODEL_TASKS_PER_HOUR {
            return Err(TaskError::TooManyPerHour);
        }
        Ok(())
    }

    /// Lists all tasks of an owner, oldest first; only those with a status if it is given.
    ///
    /// # Errors
    /// [`TaskError::Store`].
    pub async fn list(
        &self,
        owner: &str,
        status: Option<TaskStatus>,
    ) -> Result<Vec<Task>, TaskError> {
        let all = self.store.tasks(owner).await?;
        let is_listed = |task: &Task| {
            task.kind != TaskKind::Heartbeat && status.is_none_or(|one| task.status == one)
        };
        Ok(all.into_iter().filter(is_listed).collect())
    }

    /// Renders the owner's tasks that wait for their time, a line each, soonest first. Tasks with
    /// untrusted text are omitted: they would let their author influence every run.
    ///
    /// # Errors
    /// [`TaskError::Store`].
    pub async fn prompt_lines(&self, owner: &str) -> Result<Vec<String>, TaskError> {
        let soonest = self.store.waking_tasks(i64::MAX, PROMPT_TASKS).await?;
        let is_shown = |task: &&Task| {
            task.owner == owner && task.kind != TaskKind::Heartbeat && task.untrusted.is_none()
        };
        let line = |task: &Task| {
            let (schedule, zone) = lifecycle::schedule_of(task).ok()?;
            let when = describe(&schedule, &zone);
            Some(format!("**{}** ({}): {when}", task.description, task.id))
        };
        Ok(soonest.iter().filter(is_shown).filter_map(line).collect())
    }

    /// Returns one task of an owner.
    ///
    /// # Errors
    /// [`TaskError::Unknown`], [`TaskError::Store`].
    pub async fn get(&self, owner: &str, id: TaskId) -> Result<Task, TaskError> {
        let found = self.store.task(id).await?.filter(|task| task.owner == owner);
        found.ok_or_else(|| TaskError::Unknown(id.to_string()))
    }

    /// Cancels a task: it does not run again. A run that has started continues.
    ///
    /// # Errors
    /// [`TaskError::Unknown`], [`TaskError::State`] if it has ended, [`TaskError::Store`].
    pub async fn cancel(&self, owner: &str, id: TaskId) -> Result<Task, TaskError> {
        self.change(owner, id, |task| {
            if !task.is_open() {
                return Err(TaskError::State(format!("The task {id} is over already.")));
            }
            Ok(Task { status: TaskStatus::Cancelled, lease: None, ..task })
        })
        .await
    }

    /// Pauses a task until it is resumed. A run that has started continues.
    ///
    /// # Errors
    /// [`TaskError::Unknown`], [`TaskError::State`] if it has ended, [`TaskError::Store`].
    pub async fn pause(&self, owner: &str, id: TaskId) -> Result<Task, TaskError> {
        self.change(owner, id, |task| {
            if !task.is_open() {
                return Err(TaskError::State(format!("The task {id} is over.")));
            }
            Ok(Task { status: TaskStatus::Paused, lease: None, ..task })
        })
        .await
    }

    /// Lets a paused task run at its next time in the future; a single time that has passed is run
    /// immediately. The person who resumes a task takes responsibility for its text.
    ///
    /// # Errors
    /// [`TaskError::Unknown`], [`TaskError::State`] if it is not paused, [`TaskError::Store`].
    pub async fn resume(&self, owner: &str, id: TaskId) -> Result<Task, TaskError> {
        let now = instant(self.clock.now_ms())?;
        self.change(owner, id, |task| {
            if task.status != TaskStatus::Paused {
                return Err(TaskError::State(format!("The task {id} is not paused.")));
            }
            let (schedule, zone) = lifecycle::schedule_of(&task)?;
            let due_at = match schedule.next_after(now, &zone) {
                // Only an event makes it due.
                None if task.trigger.is_event() && task.events.is_empty() => None,
                next => Some(next.unwrap_or(now).as_millisecond()),
            };
            Ok(Task { status: TaskStatus::Pending, untrusted: None, due_at, ..task })
        })
        .await
    }

    /// Ends the ringing of an alarm: it ends, or waits for its next time.
    ///
    /// # Errors
    /// [`TaskError::Unknown`], [`TaskError::State`] if it does not ring, [`TaskError::Store`].
    pub async fn dismiss(&self, owner: &str, id: TaskId) -> Result<Task, TaskError> {
        let now = self.clock.now_ms();
        self.change(owner, id, |task| {
            let rings = task.rings > 0 || task.status == TaskStatus::Running;
            if task.kind != TaskKind::Alarm || !rings {
                return Err(TaskError::State(format!(
                    "The task {id} does not ring. Cancel it if it is not wanted."
                )));
            }
            Ok(lifecycle::alarm_over(&task, true, "It was dismissed.", now)?)
        })
        .await
    }

    /// Adds an event to a task and makes it due now. `false` if the task already had this event.
    ///
    /// # Errors
    /// [`TaskError::Unknown`], [`TaskError::State`] if it has ended, is paused, or has the maximum
    /// number of waiting events, [`TaskError::Store`].
    pub async fn add_event(
        &self,
        owner: &str,
        id: TaskId,
        event: TaskEvent,
    ) -> Result<bool, TaskError> {
        let task = self.get(owner, id).await?;
        if task.taken_events.contains(&event.key) {
            return Ok(false);
        }
        let added = self.change(owner, id, |task| with_event(task, &event)).await?;
        // Another process may have added the same event meanwhile.
        Ok(added.taken_events.first() == Some(&event.key))
    }

    /// Makes a task due now, even one that has ended. Removes the mark of untrusted text, like
    /// [`Self::resume`].
    ///
    /// # Errors
    /// [`TaskError::Unknown`], [`TaskError::State`] if it runs, [`TaskError::Store`].
    pub async fn run_now(&self, owner: &str, id: TaskId) -> Result<Task, TaskError> {
        let now = self.clock.now_ms();
        self.change(owner, id, |task| {
            if task.status == TaskStatus::Running {
                return Err(TaskError::State(format!("The task {id} runs already.")));
            }
            Ok(Task { status: TaskStatus::Pending, untrusted: None, due_at: Some(now), ..task })
        })
        .await
    }

    async fn change(
        &self,
        owner: &str,
        id: TaskId,
        next: impl Fn(Task) -> Result<Task, TaskError>,
    ) -> Result<Task, TaskError> {
        for _ in 0..ATTEMPTS {
            let changed = next(self.get(owner, id).await?)?;
            let changed = Task { updated_at: self.clock.now_ms(), ..changed };
            match self.store.put_task(changed.clone()).await {
                Ok(revision) => return Ok(Task { revision, ..changed }),
                Err(StoreError::Conflict(_)) => {}
                Err(StoreError::Missing(id)) => return Err(TaskError::Unknown(id)),
                Err(error) => return Err(error.into()),
            }
        }
        Err(TaskError::State(format!("The task {id} is being changed. Try again.")))
    }
}

/// Returns the task with one more waiting event.
fn with_event(task: Task, event: &TaskEvent) -> Result<Task, TaskError> {
    if task.taken_events.contains(&event.key) {
        return Ok(task);
    }
    if !matches!(task.status, TaskStatus::Pending | TaskStatus::Running) {
        return Err(TaskError::State(format!("The task {} is paused or over.", task.id)));
    }
    if task.events.len() >= MAX_EVENTS {
        return Err(TaskError::State(format!(
            "{MAX_EVENTS} events wait for the task {}, which is the maximum.",
            task.id
        )));
    }
    let events = task.events.iter().chain([event]).cloned().collect();
    let taken = std::iter::once(&event.key).chain(&task.taken_events);
    let taken_events = taken.take(TAKEN_EVENTS).cloned().collect();
    let due_at = task.due_at.or(Some(event.at));
    Ok(Task { events, taken_events, due_at, ..task })
}

fn instant(ms: i64) -> Result<Timestamp, TimeError> {
    Timestamp::from_millisecond(ms)
        .map_err(|_| TimeError::When("The clock of this machine is wrong.".to_owned()))
}
