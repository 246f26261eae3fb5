//! Tasks: work that an assistant does later or repeatedly, without a person's request at that time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{ConversationId, RunId, TaskId};
use crate::memory::Author;
use crate::surroundings::Surroundings;

/// Maximum number of executions stored with a task.
pub const TASK_HISTORY: usize = 10;

/// Trigger of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trigger", rename_all = "snake_case")]
pub enum TaskTrigger {
    /// Once, at this time.
    Time {
        /// Unix time in milliseconds.
        at: i64,
    },
    /// At the times of a cron expression.
    Cron {
        /// Five fields.
        cron: String,
    },
    /// Repeatedly from a first time on.
    Recurrence {
        /// `daily`, `weekly`, `monthly`, `weekdays`, `hourly` or `interval:N`.
        recurrence: String,
        /// The first time, Unix time in milliseconds.
        first: i64,
        /// The first time in the local time of the task's zone, such as `2026-03-29T02:30:00`. The
        /// two differ if the clock skips this local time on the first day.
        local: String,
        /// The hours of the day; times outside of them are skipped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<DailyHours>,
    },
    /// At every heartbeat: its prompt is part of the heartbeat's.
    Heartbeat,
    /// Every few minutes in a daily time: the heartbeat itself.
    Window {
        /// Minutes between two times.
        minutes: u32,
        /// First local hour, 0 to 23.
        start: u8,
        /// Local hour at which it ends, 1 to 24.
        end: u8,
    },
    /// When a signed request for this name arrives.
    Hook {
        /// Name of the hook.
        hook: String,
        /// Name of the secret that signs requests.
        secret: String,
    },
    /// When a file of the workspace changes that this glob matches.
    Change {
        /// The glob.
        glob: String,
    },
    /// When mail arrives that this filter matches.
    Mail {
        /// The filter.
        filter: MailFilter,
    },
}

/// Filter for the mail that makes a task due. An omitted field matches every mail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MailFilter {
    /// Id or address of the account. Default: all accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Part of the sender's name or address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Part of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

impl MailFilter {
    /// Returns whether a mail of an account with these names matches, ignoring case.
    #[must_use]
    pub fn matches(&self, account: [&str; 2], from: &str, subject: &str) -> bool {
        let contains = |part: &Option<String>, text: &str| match part {
            Some(part) => text.to_lowercase().contains(&part.to_lowercase()),
            None => true,
        };
        let is_account =
            |wanted: &String| account.iter().any(|one| one.eq_ignore_ascii_case(wanted));
        self.account.as_ref().is_none_or(is_account)
            && contains(&self.from, from)
            && contains(&self.subject, subject)
    }
}

impl TaskTrigger {
    /// Returns whether no time makes the task due, so that it never completes by itself.
    #[must_use]
    pub fn is_event(&self) -> bool {
        matches!(
            self,
            Self::Heartbeat | Self::Hook { .. } | Self::Change { .. } | Self::Mail { .. }
        )
    }
}

/// A part of each day, in minutes since midnight of the task's zone. A part that ends before it
/// starts extends over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DailyHours {
    /// First minute, 0 to 1439.
    pub start: u16,
    /// The minute at which it ends, 0 to 1440.
    pub end: u16,
}

/// Action of a due task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// It runs its agent.
    #[default]
    Run,
    /// It notifies the person until they dismiss it.
    Alarm,
    /// It notifies the person once.
    Notification,
    /// It is the heartbeat of its owner.
    Heartbeat,
}

impl TaskKind {
    /// Returns whether the task asks a model.
    #[must_use]
    pub fn is_run(self) -> bool {
        matches!(self, Self::Run | Self::Heartbeat)
    }

    /// Returns the name in files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Alarm => "alarm",
            Self::Notification => "notification",
            Self::Heartbeat => "heartbeat",
        }
    }
}

/// Something that happened and makes a task due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// Identity of the event: an event that arrives twice has the same key both times.
    pub key: String,
    /// When it arrived, Unix time in milliseconds.
    pub at: i64,
    /// Description of the event for the run. It is text from outside.
    pub text: String,
}

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TaskStatus {
    /// It waits for its time.
    Pending,
    /// It runs now.
    Running,
    /// A person has paused it.
    Paused,
    /// It has run for the last time.
    Completed,
    /// It was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// Returns the name in tools and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Paused => "PAUSED",
            Self::Completed => "COMPLETED",
            Self::Cancelled => "CANCELLED",
        }
    }
}

/// An execution that a scheduler has claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLease {
    /// The run, once it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The time that the execution is for, Unix time in milliseconds.
    pub due_at: i64,
    /// Key of the event that the execution is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// When it was claimed, Unix time in milliseconds.
    pub claimed_at: i64,
    /// Expiry of the claim if it is not renewed, Unix time in milliseconds.
    pub until: i64,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskExecution {
    /// The time that it was for, Unix time in milliseconds.
    pub due_at: i64,
    /// When it started, Unix time in milliseconds.
    pub started_at: i64,
    /// When it ended, Unix time in milliseconds.
    pub ended_at: i64,
    /// Whether it succeeded.
    pub ok: bool,
    /// The answer, or why there is none, shortened.
    pub result: String,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Earlier times that passed without an execution.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// The conversation, if it belongs to this execution alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// Source of outside text that the run had read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

fn is_no_ring(number: &u32) -> bool {
    *number == 0
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Id.
    pub id: TaskId,
    /// Owner.
    pub owner: String,
    /// Its purpose, in a few words.
    pub description: String,
    /// Action of the task.
    #[serde(default)]
    pub kind: TaskKind,
    /// The prompt of its runs, or the text of the alarm.
    pub prompt: String,
    /// Trigger of the task.
    #[serde(flatten)]
    pub trigger: TaskTrigger,
    /// IANA name of the time zone that its times are in.
    pub zone: String,
    /// The agent of its runs; empty for the configured one.
    #[serde(default)]
    pub agent: String,
    /// Surroundings of the person when the task was created, for its runs.
    #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
    pub surroundings: Surroundings,
    /// Its status.
    pub status: TaskStatus,
    /// When it is due next, Unix time in milliseconds; `None` if no time makes it due.
    #[serde(default)]
    pub due_at: Option<i64>,
    /// The current execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<TaskLease>,
    /// The conversation of its runs, once one was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// Failed executions since the last success.
    #[serde(default)]
    pub consecutive_failures: u32,
    /// The last answer, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_result: Option<String>,
    /// The last executions, newest first.
    #[serde(default)]
    pub history: Vec<TaskExecution>,
    /// How often an alarm has rung since it became due.
    #[serde(default, skip_serializing_if = "is_no_ring")]
    pub rings: u32,
    /// Events that wait for their execution, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Keys of the last events, newest first, so that no event is accepted twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_events: Vec<String>,
    /// Number of tasks in the chain that created this one; 0 for a task of a person.
    #[serde(default)]
    pub depth: u32,
    /// Source of the text if it is outside text; the task's runs are then untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The author of the task.
    pub author: Author,
    /// Creation time, Unix time in milliseconds.
    pub created_at: i64,
    /// Time of the last change, Unix time in milliseconds.
    pub updated_at: i64,
    /// Number of the task's changes; the store assigns it.
    #[serde(skip)]
    pub revision: i64,
}

impl Task {
    /// Creates a pending task without a text, which has never run.
    #[must_use]
    pub fn new(id: TaskId, owner: String, kind: TaskKind, trigger: TaskTrigger, at: i64) -> Self {
        Self {
            id,
            owner,
            description: String::new(),
            kind,
            prompt: String::new(),
            trigger,
            zone: String::new(),
            agent: String::new(),
            surroundings: Surroundings::default(),
            status: TaskStatus::Pending,
            due_at: None,
            lease: None,
            conversation: None,
            consecutive_failures: 0,
            last_result: None,
            history: Vec::new(),
            rings: 0,
            events: Vec::new(),
            taken_events: Vec::new(),
            depth: 0,
            untrusted: None,
            author: Author::default(),
            created_at: at,
            updated_at: at,
            revision: 1,
        }
    }

    /// Returns when a scheduler must check the task, Unix time in milliseconds: when it is due, or
    /// when a claim on it has ended.
    #[must_use]
    pub fn wake_at(&self) -> Option<i64> {
        match self.status {
            TaskStatus::Pending => self.due_at,
            TaskStatus::Running => self.lease.as_ref().map(|lease| lease.until),
            TaskStatus::Paused | TaskStatus::Completed | TaskStatus::Cancelled => None,
        }
    }

    /// Returns the surroundings of the task's runs: those of the person who created it, in the zone
    /// of its times.
    #[must_use]
    pub fn run_surroundings(&self) -> Surroundings {
        Surroundings { time_zone: self.zone.clone(), ..self.surroundings.clone() }
    }

    /// Returns whether the task may run again.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self.status, TaskStatus::Completed | TaskStatus::Cancelled)
    }
}
