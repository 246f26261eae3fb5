//! The heartbeat of an owner: its row, and the input of its prompt.

use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use toolcrib_core::{
    AssistantRowStore, StoreError, Task, TaskExecution, TaskId, TaskKind, TaskStatus, TaskTrigger,
    canonical_json,
};

use super::arrivals::Arrivals;
use super::prompt::{
    AccountLine, HeartbeatInput, Inbound, InboundKind, PromotionLine, ReportLine, TaskLine,
};
use super::reply;
use super::settings::HeartbeatSettings;
use crate::mail_inbox::{MailInbox, MailInboxes};
use crate::memory::{Memories, PROMOTION_HITS};
use crate::task::{TaskError, Tasks, schedule_of};
use crate::time::{describe, format_instant, parse_zone};

/// Maximum pending tasks in a prompt.
const MAX_TASKS: usize = 50;
/// Maximum promotion candidates in a prompt.
const MAX_PROMOTIONS: usize = 20;

/// The heartbeats of all owners. Clones share them.
#[derive(Clone)]
pub struct Heartbeats {
    tasks: Tasks,
    memories: Memories,
    inboxes: MailInboxes,
    arrivals: Arrivals,
    settings: Arc<RwLock<HeartbeatSettings>>,
}

impl Heartbeats {
    /// The heartbeat over these tasks and memories, and over the inboxes and arrivals of a store.
    #[must_use]
    pub fn new(
        tasks: Tasks,
        memories: Memories,
        store: &Arc<dyn AssistantRowStore>,
        settings: HeartbeatSettings,
    ) -> Self {
        let inboxes = MailInboxes::new(Arc::clone(store));
        let arrivals = Arrivals::new(Arc::clone(store));
        Self { tasks, memories, inboxes, arrivals, settings: Arc::new(RwLock::new(settings)) }
    }

    /// Messages and notifications of other programs.
    #[must_use]
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Returns the owner's settings.
    #[must_use]
    pub fn settings(&self) -> HeartbeatSettings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the settings; [`Self::ensure`] applies them.
    pub fn set_settings(&self, settings: HeartbeatSettings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// Creates or changes the row of an owner's heartbeat according to the settings. The first
    /// heartbeat comes after one interval.
    ///
    /// # Errors
    /// [`TaskError`] if it cannot be stored.
    pub async fn ensure(&self, owner: &str) -> Result<(), TaskError> {
        let settings = self.settings();
        let store = self.tasks.store();
        let found = store.task(heartbeat_task_id(owner)).await?;
        let row = match found {
            None if !settings.enabled => return Ok(()),
            None => {
                let new = self.new_row(owner, &settings)?;
                return match store.add_task(new).await {
                    // Another daemon created the row.
                    Ok(()) | Err(StoreError::Conflict(_)) => Ok(()),
                    Err(error) => Err(error.into()),
                };
            }
            Some(row) => row,
        };
        let trigger = trigger(&settings);
        let is_on = row.status != TaskStatus::Paused;
        if row.trigger == trigger && is_on == settings.enabled {
            return Ok(());
        }
        let mut changed = Task { trigger, ..row };
        changed.due_at = first_due(&changed, self.tasks.now()?)?;
        changed.status = if settings.enabled { TaskStatus::Pending } else { TaskStatus::Paused };
        changed.lease = None;
        match store.put_task(changed).await {
            Ok(_) | Err(StoreError::Conflict(_) | StoreError::Missing(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn new_row(&self, owner: &str, settings: &HeartbeatSettings) -> Result<Task, TaskError> {
        let now = self.tasks.now()?;
        let zone = TimeZone::system();
        let (id, owner, kind) = (heartbeat_task_id(owner), owner.to_owned(), TaskKind::Heartbeat);
        let row = Task {
            description: "Heartbeat".to_owned(),
            zone: zone.iana_name().unwrap_or("UTC").to_owned(),
            ..Task::new(id, owner, kind, trigger(settings), now.as_millisecond())
        };
        let due_at = first_due(&row, now)?;
        Ok(Task { due_at, ..row })
    }

    /// Returns the row of an owner's heartbeat.
    ///
    /// # Errors
    /// [`TaskError::Unknown`] if there is none, [`TaskError::Store`].
    pub async fn row(&self, owner: &str) -> Result<Task, TaskError> {
        let found = self.tasks.store().task(heartbeat_task_id(owner)).await?;
        found.ok_or_else(|| TaskError::Unknown("of the heartbeat".to_owned()))
    }

    /// Makes the heartbeat due now, even outside of its hours.
    ///
    /// # Errors
    /// [`TaskError::State`] if it is off or runs, [`TaskError::Store`].
    pub async fn run_now(&self, owner: &str) -> Result<Task, TaskError> {
        if !self.settings().enabled {
            return Err(TaskError::State(
                "The heartbeat is switched off: `heartbeat.enabled` of the configuration."
                    .to_owned(),
            ));
        }
        self.ensure(owner).await?;
        self.tasks.run_now(owner, heartbeat_task_id(owner)).await
    }

    /// Returns whether a claimed heartbeat must be skipped: no daemon could run it at its time, and
    /// the current time is outside of its hours.
    ///
    /// # Errors
    /// [`TaskError::Time`] if its row cannot be read.
    pub fn is_missed(&self, row: &Task, now: i64) -> Result<bool, TaskError> {
        let due = row.lease.as_ref().map_or(row.due_at, |lease| Some(lease.due_at));
        let is_late = due.is_some_and(|due| now - due > crate::task::LATE_MS);
        let TaskTrigger::Window { start, end, .. } = row.trigger else { return Ok(false) };
        let zone = parse_zone(Some(&row.zone))?;
        let now = Timestamp::from_millisecond(now).unwrap_or_default();
        let hour = zone.to_datetime(now).hour();
        let is_inside = (i16::from(start)..i16::from(end)).contains(&i16::from(hour));
        Ok(is_late && !is_inside)
    }

    /// What a heartbeat of this owner looks at. Of mail, messages and notifications it is what
    /// arrived since the last one that succeeded.
    ///
    /// # Errors
    /// [`TaskError`] if it cannot be read.
    pub async fn input(&self, owner: &str) -> Result<HeartbeatInput, TaskError> {
        let row = self.row(owner).await.ok();
        let history = row.map(|row| row.history).unwrap_or_default();
        let zone = TimeZone::system();
        let last = history.iter().find(|one| one.ok).map_or(0, |one| one.started_at);
        let inboxes = self.inboxes.all(owner).await;
        let mut inboxes = inboxes.map_err(|error| StoreError::Failed(error.to_string()))?;
        inboxes.retain(|inbox| inbox.has_news_since(last));
        let arrived = self.arrivals.since(owner, last).await;
        let arrived = arrived.map_err(|error| StoreError::Failed(error.to_string()))?;
        let all = self.tasks.list(owner, Some(TaskStatus::Pending)).await?;
        let (additions, tasks): (Vec<Task>, Vec<Task>) =
            all.into_iter().partition(|task| task.trigger == TaskTrigger::Heartbeat);
        let memories = self.memories.all(owner).await;
        let memories = memories.map_err(|error| StoreError::Failed(error.to_string()))?;
        let is_candidate = |memory: &&toolcrib_core::Memory| {
            memory.hit_count >= PROMOTION_HITS && memory.untrusted.is_none()
        };
        Ok(HeartbeatInput {
            prompt: self.settings().prompt,
            additions: additions.iter().map(line).collect(),
            reports: reports(&history, &zone),
            tasks: tasks.iter().take(MAX_TASKS).map(line).collect(),
            accounts: inboxes.iter().map(|inbox| account_line(inbox, &zone)).collect(),
            inbound: inboxes.iter().flat_map(|inbox| inbound(inbox, last)).chain(arrived).collect(),
            promotions: memories
                .iter()
                .filter(is_candidate)
                .take(MAX_PROMOTIONS)
                .map(|memory| PromotionLine {
                    key: memory.key.clone(),
                    hit_count: memory.hit_count,
                    category: memory.category,
                    content: memory.content.clone(),
                })
                .collect(),
            has_memories: !memories.is_empty(),
        })
    }
}

/// Returns the id of the row of an owner's heartbeat: the same in all daemons, so that they create
/// a single row.
#[must_use]
pub fn heartbeat_task_id(owner: &str) -> TaskId {
    let hash = canonical_json::sha256_parts(&["heartbeat", owner]);
    let text = format!("task_{}", hash.get(..32).unwrap_or_default());
    // A hash has 64 hexadecimal digits, so the fallback never runs.
    text.parse().unwrap_or_else(|_| TaskId::fresh())
}

fn trigger(settings: &HeartbeatSettings) -> TaskTrigger {
    TaskTrigger::Window {
        minutes: settings.interval_minutes,
        start: settings.active_start,
        end: settings.active_end,
    }
}

fn first_due(row: &Task, now: Timestamp) -> Result<Option<i64>, TaskError> {
    let (schedule, zone) = schedule_of(row)?;
    Ok(schedule.next_after(now, &zone).map(Timestamp::as_millisecond))
}

fn line(task: &Task) -> TaskLine {
    let when = schedule_of(task).map(|(schedule, zone)| {
        let words = describe(&schedule, &zone);
        let due = task.due_at.and_then(|due| Timestamp::from_millisecond(due).ok());
        match due {
            Some(due) => format!("{words}, next {}", format_instant(due, &zone)),
            None => words,
        }
    });
    TaskLine {
        id: task.id.to_string(),
        description: task.description.clone(),
        prompt: task.prompt.clone(),
        when: when.unwrap_or_default(),
    }
}

fn account_line(inbox: &MailInbox, zone: &TimeZone) -> AccountLine {
    let read_at = Some(inbox.read_at).filter(|at| *at > 0);
    let read_at = read_at.and_then(|at| Timestamp::from_millisecond(at).ok());
    AccountLine {
        address: inbox.address.clone(),
        state: match inbox.problem() {
            Some(problem) => Err(problem.to_owned()),
            None => Ok(inbox.unread),
        },
        last_sync: read_at.map(|at| format_instant(at, zone)),
    }
}

/// Returns the mail that arrived since a time, the newest first.
fn inbound(inbox: &MailInbox, since: i64) -> impl Iterator<Item = Inbound> {
    inbox.recent.iter().filter(move |mail| mail.seen_at > since).map(|mail| Inbound {
        kind: InboundKind::Mail,
        from: format!("{}, to {}, uid {}", mail.from, inbox.address, mail.uid),
        title: mail.subject.clone(),
        text: mail.text.clone(),
    })
}

/// Returns the successful executions that reported something, newest first.
fn reports(history: &[TaskExecution], zone: &TimeZone) -> Vec<ReportLine> {
    let reported = history.iter().filter(|one| one.ok && !reply::is_ok(&one.result));
    let line = |one: &TaskExecution| ReportLine {
        at: Timestamp::from_millisecond(one.ended_at)
            .map(|at| format_instant(at, zone))
            .unwrap_or_default(),
        text: one.result.clone(),
        is_untrusted: one.untrusted.is_some(),
    };
    reported.map(line).collect()
}
