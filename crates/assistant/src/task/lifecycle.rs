//! Steps of a scheduler for a due task: pure functions from one state of its row to the next.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use toolcrib_core::{
    ConversationId, MailFilter, RunId, TASK_HISTORY, Task, TaskEvent, TaskExecution, TaskKind,
    TaskLease, TaskStatus, TaskTrigger,
};

use crate::outside_text::fenced;
use crate::time::{
    Cron, LocalTime, Recurrence, Schedule, Slots, TimeError, Window, format_instant, parse_zone,
    slots_until,
};

/// Duration of a claim without renewal, in milliseconds.
pub const LEASE_MS: i64 = 60_000;
/// A run that starts later than this, in milliseconds, is told how late it is.
pub const LATE_MS: i64 = 60_000;
/// Maximum attempts at a task with a single time.
pub const MAX_ATTEMPTS: u32 = 8;
/// First and longest wait after a failure, in milliseconds.
const RETRY_MS: i64 = 60_000;
const MAX_RETRY_MS: i64 = 3_600_000;
/// Maximum stored executions of a heartbeat.
const HEARTBEAT_HISTORY: usize = 50;
/// Time between two rings of an alarm, in milliseconds.
const RING_MS: i64 = 60_000;
/// Maximum rings of an alarm: half an hour.
pub const MAX_RINGS: u32 = 30;
/// Maximum stored characters of a result.
const RESULT_CHARS: usize = 500;

/// The result of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// Whether it succeeded.
    pub ok: bool,
    /// The answer, or why there is none.
    pub result: String,
    /// The run, if one started.
    pub run: Option<RunId>,
    /// The conversation, if it belongs to this execution only.
    pub conversation: Option<ConversationId>,
    /// The source of untrusted text that its run had read.
    pub untrusted: Option<String>,
}

/// Returns the schedule of a task with its zone.
///
/// # Errors
/// [`TimeError`] if the row cannot be read, for example because its zone was removed.
pub fn schedule_of(task: &Task) -> Result<(Schedule, TimeZone), TimeError> {
    let zone = parse_zone(Some(&task.zone))?;
    let time =
        |ms: i64| Timestamp::from_millisecond(ms).map_err(|_| TimeError::Time(ms.to_string()));
    let schedule = match &task.trigger {
        TaskTrigger::Time { at } => {
            let instant = time(*at)?;
            Schedule::Once(LocalTime { civil: zone.to_datetime(instant), instant })
        }
        TaskTrigger::Cron { cron } => Schedule::Cron(Box::new(Cron::parse(cron)?)),
        TaskTrigger::Recurrence { recurrence, first, local, within } => {
            let civil = local.parse().map_err(|_| TimeError::Time(local.clone()))?;
            let first = LocalTime { civil, instant: time(*first)? };
            Schedule::Recurrence(Recurrence { word: recurrence.parse()?, first, within: *within })
        }
        TaskTrigger::Window { minutes, start, end } => {
            Schedule::Window(Window { minutes: *minutes, start: *start, end: *end })
        }
        TaskTrigger::Heartbeat => Schedule::Event("At every heartbeat".to_owned()),
        TaskTrigger::Hook { hook, .. } => {
            Schedule::Event(format!("When the hook {hook} is called"))
        }
        TaskTrigger::Change { glob } => Schedule::Event(format!("When {glob} changes")),
        TaskTrigger::Mail { filter } => Schedule::Event(mail_words(filter)),
    };
    Ok((schedule, zone))
}

/// Renders `When mail arrives at X from Y with "Z" in its subject`.
fn mail_words(filter: &MailFilter) -> String {
    let mut words = "When mail arrives".to_owned();
    if let Some(account) = &filter.account {
        words += &format!(" at {account}");
    }
    if let Some(from) = &filter.from {
        words += &format!(" from {from}");
    }
    if let Some(subject) = &filter.subject {
        words += &format!(" with \"{subject}\" in its subject");
    }
    words
}

/// Claims a task at `now`: one that is due, or whose claim has ended. `None` for other tasks.
#[must_use]
pub fn claim(task: &Task, now: i64) -> Option<Task> {
    if task.wake_at().is_none_or(|wake| wake > now) {
        return None;
    }
    let until = now + LEASE_MS;
    let lease = match &task.lease {
        // A scheduler died: continue the same execution.
        Some(lease) if task.status == TaskStatus::Running => TaskLease { until, ..lease.clone() },
        // Between two rings of an alarm, the lease keeps the time of the first ring.
        Some(lease) if task.rings > 0 => TaskLease { until, ..lease.clone() },
        _ => TaskLease {
            run: None,
            due_at: task.due_at?,
            event: task.events.first().map(|event| event.key.clone()),
            claimed_at: now,
            until,
        },
    };
    Some(Task { status: TaskStatus::Running, lease: Some(lease), updated_at: now, ..task.clone() })
}

/// Renews the claim of a task, and records its run once that is known.
#[must_use]
pub fn renew(task: &Task, run: RunId, now: i64) -> Task {
    let lease = task.lease.clone().map(|lease| TaskLease {
        run: Some(run),
        until: now + LEASE_MS,
        ..lease
    });
    Task { lease, ..task.clone() }
}

/// Releases the claim of a task for which nothing has started; it is due again after `wait_ms`.
#[must_use]
pub fn release(task: &Task, now: i64, wait_ms: i64) -> Task {
    let due_at = task.lease.as_ref().map(|lease| lease.due_at);
    // The time of the execution is unchanged; only the next attempt comes later.
    let lease = task.lease.clone().map(|lease| TaskLease { until: now + wait_ms, ..lease });
    Task { due_at: due_at.or(task.due_at), lease, ..task.clone() }
}

/// Returns the task after an execution that ended at `now`. A schedule continues with its next time
/// in the future; times that passed meanwhile are counted and not run. A single time is retried
/// after a failure.
///
/// # Errors
/// [`TimeError`] if its schedule cannot be read.
pub fn settle(task: &Task, ended: &Ended, now: i64) -> Result<Task, TimeError> {
    let (due_at, started_at) = match &task.lease {
        Some(lease) => (lease.due_at, lease.claimed_at),
        None => (task.due_at.unwrap_or(now), now),
    };
    let failures = if ended.ok { 0 } else { task.consecutive_failures.saturating_add(1) };
    let instant =
        |ms: i64| Timestamp::from_millisecond(ms).map_err(|_| TimeError::Time(ms.to_string()));
    let (schedule, zone) = schedule_of(task)?;
    let Slots { missed, next } = slots_until(&schedule, &zone, instant(due_at)?, instant(now)?);
    let is_once = matches!(task.trigger, TaskTrigger::Time { .. });
    let next = match next {
        None if is_once && !ended.ok && failures < MAX_ATTEMPTS => Some(now + retry_ms(failures)),
        next => next.map(Timestamp::as_millisecond),
    };
    // The event of this execution is processed; the next one is due immediately.
    let done = task.lease.as_ref().and_then(|lease| lease.event.as_deref());
    let events: Vec<TaskEvent> =
        task.events.iter().filter(|event| Some(event.key.as_str()) != done).cloned().collect();
    let next = if events.is_empty() { next } else { Some(now) };
    let goes_on = next.is_some() || task.trigger.is_event();
    let status = if goes_on { TaskStatus::Pending } else { TaskStatus::Completed };
    let result: String = ended.result.chars().take(RESULT_CHARS).collect();
    let execution = TaskExecution {
        due_at,
        started_at,
        ended_at: now,
        ok: ended.ok,
        result: result.clone(),
        run: ended.run,
        missed,
        conversation: ended.conversation,
        untrusted: ended.untrusted.clone(),
    };
    let kept = if task.kind == TaskKind::Heartbeat { HEARTBEAT_HISTORY } else { TASK_HISTORY };
    let history =
        std::iter::once(execution).chain(task.history.iter().cloned()).take(kept).collect();
    Ok(Task {
        status,
        events,
        rings: 0,
        due_at: next,
        lease: None,
        consecutive_failures: failures,
        last_result: Some(result),
        history,
        updated_at: now,
        ..task.clone()
    })
}

/// Skips this time: releases the claim, and makes the task due at the next time of its schedule.
///
/// # Errors
/// [`TimeError`] if its schedule cannot be read.
pub fn postpone(task: &Task, now: i64) -> Result<Task, TimeError> {
    let (schedule, zone) = schedule_of(task)?;
    let now = Timestamp::from_millisecond(now).map_err(|_| TimeError::Time(now.to_string()))?;
    let due_at = schedule.next_after(now, &zone).map(Timestamp::as_millisecond);
    Ok(Task { status: TaskStatus::Pending, due_at, lease: None, ..task.clone() })
}

/// Returns an alarm after it rang at `now`: due again in a minute, or ended after [`MAX_RINGS`].
///
/// # Errors
/// [`TimeError`] if its schedule cannot be read.
pub fn rung(task: &Task, now: i64) -> Result<Task, TimeError> {
    let rings = task.rings + 1;
    if rings >= MAX_RINGS {
        return alarm_over(task, false, "It was not dismissed.", now);
    }
    let due_at = Some(now + RING_MS);
    Ok(Task { rings, status: TaskStatus::Pending, due_at, updated_at: now, ..task.clone() })
}

/// Ends the ringing of an alarm: it waits for its next time, or ends.
///
/// # Errors
/// [`TimeError`] if its schedule cannot be read.
pub fn alarm_over(task: &Task, ok: bool, result: &str, now: i64) -> Result<Task, TimeError> {
    // Settle it as a success, because a single time would be retried after a failure.
    let ended = Ended { ok: true, result: result.to_owned(), ..Ended::default() };
    let mut over = settle(task, &ended, now)?;
    if let Some(last) = over.history.first_mut() {
        last.ok = ok;
    }
    Ok(over)
}

/// Renders the message of an alarm: its text, and since when it rings.
#[must_use]
pub fn alarm_message(task: &Task, now: i64) -> String {
    let text = &task.prompt;
    match late_by(task, now) {
        Some((due, late)) if task.rings == 0 => {
            format!("{text} (due at {due}, {late} ago; nothing could ring it then)")
        }
        Some((due, _)) => format!("{text} (since {due})"),
        None => text.clone(),
    }
}

/// Returns the time of an execution and its delay, if it is late.
fn late_by(task: &Task, now: i64) -> Option<(String, String)> {
    let due_at = task.lease.as_ref()?.due_at;
    let late = now.saturating_sub(due_at);
    let due = Timestamp::from_millisecond(due_at).ok()?;
    let zone = parse_zone(Some(&task.zone)).ok()?;
    (late > LATE_MS).then(|| (format_instant(due, &zone), duration(late)))
}

/// Returns 60 s × 2^failures, at most an hour.
fn retry_ms(failures: u32) -> i64 {
    RETRY_MS
        .saturating_mul(1_i64.checked_shl(failures.min(16)).unwrap_or(i64::MAX))
        .min(MAX_RETRY_MS)
}

/// Renders the message that starts the run of an execution.
#[must_use]
pub fn run_message(task: &Task, now: i64) -> String {
    let mut text = format!("**{}**\n\n", task.description);
    if let Some((due, late)) = late_by(task, now) {
        text += &format!(
            "This task was due at {due}; it runs {late} late, because nothing could run it then.\n\n"
        );
    }
    text += &task.prompt;
    if let Some(event) = present_event(task) {
        text += &format!("\n\n{}", fenced("the event that started this task", &event.text));
    }
    text
}

/// Returns the event of the current execution.
#[must_use]
pub fn present_event(task: &Task) -> Option<&TaskEvent> {
    let key = task.lease.as_ref()?.event.as_ref()?;
    task.events.iter().find(|event| event.key == *key)
}

/// Renders a duration: "3 min", "2 h 5 min", "4 d 1 h".
fn duration(ms: i64) -> String {
    let minutes = ms / 60_000;
    let (days, hours, rest) = (minutes / 1_440, minutes / 60 % 24, minutes % 60);
    match (days, hours) {
        (0, 0) => format!("{rest} min"),
        (0, hours) => format!("{hours} h {rest} min"),
        (days, hours) => format!("{days} d {hours} h"),
    }
}
