//! A task in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::task::{TaskError, schedule_of};
use toolcrib_assistant::time::{describe, describe_next, format_instant};
use toolcrib_core::{Task, TaskExecution, TaskTrigger};

use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// Number of upcoming times in a reply.
const NEXT: usize = 3;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Task")]
pub struct TaskReply {
    /// Its id.
    pub task: String,
    /// Its purpose.
    pub description: String,
    /// `run`: its agent runs. `alarm`: it notifies until it is dismissed. `notification`: it
    /// notifies once.
    pub kind: String,
    /// How often an alarm has rung since it became due.
    pub rings: u32,
    /// Number of events that wait for their execution.
    pub waiting_events: usize,
    /// The prompt of its runs, or the text of an alarm; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// `PENDING`, `RUNNING`, `PAUSED`, `COMPLETED` or `CANCELLED`.
    pub status: String,
    /// Its schedule, in words.
    pub schedule: String,
    /// IANA name of the time zone of its schedule.
    pub zone: String,
    /// Its next times, in RFC 3339 with offset.
    pub next: Vec<String>,
    /// Its next times in words.
    #[serde(default)]
    pub next_in_words: Vec<String>,
    /// The webhook that starts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// The agent of its runs; absent = the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation of its runs, after the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Number of failed executions since the last success.
    pub consecutive_failures: u32,
    /// Source of its text, if that is untrusted: the task is then paused until a person resumes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The person, token or agent that created it.
    pub by: String,
    /// The run that created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by_run: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// The last executions, newest first.
    pub history: Vec<TaskExecutionReply>,
}

/// An execution of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TaskExecution")]
pub struct TaskExecutionReply {
    /// The time for which it was due, in milliseconds since 1970.
    pub due_at: i64,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// Milliseconds since 1970.
    pub ended_at: i64,
    /// Whether it succeeded.
    pub ok: bool,
    /// The answer, shortened; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Number of later times that passed before it ended, and that were skipped.
    pub missed: u64,
    /// Its conversation, if that belongs to this execution only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The source that made its run untrusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

impl TaskReply {
    pub(super) fn new(ctx: &StoreContext<'_>, task: Task) -> Self {
        let (schedule, next, next_in_words) = schedule(&task);
        let shows = ctx.shows_payloads;
        let hook = match &task.trigger {
            TaskTrigger::Hook { hook, .. } => Some(hook.clone()),
            _ => None,
        };
        Self {
            hook,
            task: task.id.to_string(),
            description: task.description,
            kind: task.kind.as_str().to_owned(),
            rings: task.rings,
            waiting_events: task.events.len(),
            prompt: shows.then_some(task.prompt),
            status: task.status.as_str().to_owned(),
            schedule,
            zone: task.zone,
            next,
            next_in_words,
            agent: Some(task.agent).filter(|agent| !agent.is_empty()),
            conversation: task.conversation.map(|id| id.to_string()),
            consecutive_failures: task.consecutive_failures,
            untrusted: task.untrusted,
            by: task.author.by,
            made_by_run: task.author.run.map(|run| run.to_string()),
            created_at: task.created_at,
            history: task.history.into_iter().map(|one| execution(one, shows)).collect(),
        }
    }
}

/// Returns the schedule in words, and the next times, in RFC 3339 and in words.
fn schedule(task: &Task) -> (String, Vec<String>, Vec<String>) {
    match schedule_of(task) {
        Ok((schedule, zone)) => {
            let due = task.due_at.filter(|_| task.is_open());
            let first = due.and_then(|due| jiff::Timestamp::from_millisecond(due).ok());
            let times = std::iter::successors(first, |last| schedule.next_after(*last, &zone));
            let times: Vec<jiff::Timestamp> = times.take(NEXT).collect();
            let next = times.iter().map(|time| format_instant(*time, &zone)).collect();
            (describe(&schedule, &zone), next, describe_next(&times, &zone))
        }
        Err(error) => (error.to_string(), Vec::new(), Vec::new()),
    }
}

pub(crate) fn execution(one: TaskExecution, shows: bool) -> TaskExecutionReply {
    TaskExecutionReply {
        due_at: one.due_at,
        started_at: one.started_at,
        ended_at: one.ended_at,
        ok: one.ok,
        result: shows.then_some(one.result),
        run: one.run.map(|run| run.to_string()),
        missed: one.missed,
        conversation: one.conversation.map(|id| id.to_string()),
        untrusted: one.untrusted,
    }
}

impl From<TaskError> for OpError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Store(error) => Self::Store(error),
            TaskError::Unknown(id) => Self::not_found(Resource::Task, id),
            TaskError::State(_)
            | TaskError::Full
            | TaskError::ModelsFull
            | TaskError::TooDeep
            | TaskError::TooManyPerHour => Self::Conflict(error.to_string()),
            TaskError::Time(_) | TaskError::BadText | TaskError::Secret => {
                Self::Invalid(error.to_string())
            }
        }
    }
}
