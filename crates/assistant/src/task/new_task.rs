//! The description of a new task, and its checks.

use globset::Glob;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use toolcrib_core::{Author, DailyHours, MailFilter, Surroundings, TaskKind, TaskTrigger};

use super::error::TaskError;
use crate::time::{
    Cron, Recurrence, RecurrenceWord, Schedule, TimeError, format_instant, parse_daily_hours,
    parse_local_time,
};

/// Maximum characters of a description.
pub(super) const MAX_DESCRIPTION_CHARS: usize = 200;
/// Maximum characters of a prompt.
pub(super) const MAX_PROMPT_CHARS: usize = 4_000;
/// A time that passed less than this ago, in milliseconds, is treated as now.
const PAST_MS: i64 = 60_000;

/// Maximum characters of the name of a hook and of a glob.
const MAX_NAME_CHARS: usize = 100;

/// When a task is due: exactly one of `execute_at`, `cron`, `on_heartbeat`, `hook`, `on_change`
/// and `on_mail`, or a recurrence with `execute_at` as its first time. An empty text and `false`
/// count as absent.
#[derive(Debug, Clone, Default)]
pub struct When {
    /// A time in ISO 8601.
    pub execute_at: Option<String>,
    /// A cron expression.
    pub cron: Option<String>,
    /// `daily`, `weekly`, `monthly`, `weekdays`, `hourly` or `interval:N`.
    pub recurrence: Option<String>,
    /// First time of the day of an hourly recurrence or an interval, such as `9:00`.
    pub window_start: Option<String>,
    /// The end of that period.
    pub window_end: Option<String>,
    /// At every heartbeat.
    pub on_heartbeat: bool,
    /// When a signed request for this name arrives.
    pub hook: Option<String>,
    /// When a file of the workspace changes that this glob matches.
    pub on_change: Option<String>,
    /// When mail arrives that this filter matches.
    pub on_mail: Option<MailFilter>,
}

/// A task to create.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Owner.
    pub owner: String,
    /// Its purpose.
    pub description: String,
    /// The prompt of its runs, or the text of an alarm.
    pub prompt: String,
    /// Its kind; only the heartbeat creates [`TaskKind::Heartbeat`].
    pub kind: TaskKind,
    /// When it is due.
    pub when: When,
    /// IANA name of a zone; `None` for the zone of this machine.
    pub zone: Option<String>,
    /// Information about the person, for its runs.
    pub surroundings: Surroundings,
    /// The agent of its runs; empty for the configured one.
    pub agent: String,
    /// The author.
    pub author: Author,
    /// Number of goals and tasks that started one another before the run that creates this task; 0
    /// for a person.
    pub depth: u32,
    /// The source of its text, if the text is untrusted.
    pub untrusted: Option<String>,
}

impl NewTask {
    pub(super) fn check_texts(&self) -> Result<(), TaskError> {
        let fits =
            |text: &str, most: usize| !text.trim().is_empty() && text.chars().count() <= most;
        let is_line = !self.description.chars().any(char::is_control);
        let is_good = fits(&self.description, MAX_DESCRIPTION_CHARS)
            && is_line
            && fits(&self.prompt, MAX_PROMPT_CHARS);
        if is_good { Ok(()) } else { Err(TaskError::BadText) }
    }
}

impl When {
    /// Returns the trigger, and the first time.
    pub(super) fn trigger(
        &self,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<(TaskTrigger, Option<Timestamp>), TimeError> {
        let (at, cron) = (given(self.execute_at.as_deref()), given(self.cron.as_deref()));
        if let Some(event) = self.event()? {
            return Ok((event, None));
        }
        let has_window = [&self.window_start, &self.window_end]
            .into_iter()
            .any(|text| given(text.as_deref()).is_some());
        if has_window && given(self.recurrence.as_deref()).is_none() {
            return Err(TimeError::When(
                "window_start and window_end go with recurrence and execute_at.".to_owned(),
            ));
        }
        match (at, cron, given(self.recurrence.as_deref())) {
            (Some(at), None, None) => {
                let time = parse_local_time(at, zone)?;
                refuse_past(time.instant, zone, now)?;
                let trigger = TaskTrigger::Time { at: time.instant.as_millisecond() };
                Ok((trigger, Some(time.instant)))
            }
            (None, Some(text), None) => {
                let cron = Cron::parse(text)?;
                let first = cron.next_after(now, zone);
                let first = first.ok_or_else(|| TimeError::Never(text.to_owned()))?;
                Ok((TaskTrigger::Cron { cron: cron.as_str().to_owned() }, Some(first)))
            }
            (Some(at), None, Some(word)) => {
                let word: RecurrenceWord = word.parse()?;
                let first = parse_local_time(at, zone)?;
                refuse_past(first.instant, zone, now)?;
                let within = self.hours(word)?;
                let schedule = Schedule::Recurrence(Recurrence { word, first, within });
                let before = Timestamp::from_nanosecond(first.instant.as_nanosecond() - 1);
                let due = before.ok().and_then(|before| schedule.next_after(before, zone));
                if due.is_none() {
                    return Err(TimeError::When(
                        "No time of this recurrence falls between window_start and window_end. Choose another execute_at, window or interval."
                            .to_owned(),
                    ));
                }
                let trigger = TaskTrigger::Recurrence {
                    recurrence: word.to_string(),
                    first: first.instant.as_millisecond(),
                    local: first.civil.to_string(),
                    within,
                };
                Ok((trigger, due))
            }
            _ => Err(TimeError::When(
                "Say when with either execute_at or cron, or with recurrence and execute_at as its first time, or with on_heartbeat, on_change or on_mail."
                    .to_owned(),
            )),
        }
    }

    /// Returns the hours of a recurrence that comes several times a day.
    fn hours(&self, word: RecurrenceWord) -> Result<Option<DailyHours>, TimeError> {
        let (start, end) = (self.window_start.as_deref(), self.window_end.as_deref());
        let hours = parse_daily_hours(given(start), given(end))?;
        let is_repeated = matches!(word, RecurrenceWord::Hourly | RecurrenceWord::Interval(_));
        if hours.is_some() && !is_repeated {
            return Err(TimeError::When(format!(
                "window_start and window_end go with hourly and interval:N; {word} has one time a day."
            )));
        }
        Ok(hours)
    }

    /// Returns the event that makes it due; `None` if a time does.
    fn event(&self) -> Result<Option<TaskTrigger>, TimeError> {
        let (hook, glob) = (given(self.hook.as_deref()), given(self.on_change.as_deref()));
        let has_time = [&self.execute_at, &self.cron, &self.recurrence]
            .into_iter()
            .any(|text| given(text.as_deref()).is_some());
        match (self.on_heartbeat, hook, glob, &self.on_mail) {
            (false, None, None, None) => Ok(None),
            (true, None, None, None) if !has_time => Ok(Some(TaskTrigger::Heartbeat)),
            (false, Some(hook), None, None) if !has_time => hook_trigger(hook).map(Some),
            (false, None, Some(glob), None) if !has_time => change_trigger(glob).map(Some),
            (false, None, None, Some(filter)) if !has_time => mail_trigger(filter).map(Some),
            _ => Err(TimeError::When(
                "Say when with exactly one of a time, on_heartbeat, a hook, on_change and on_mail."
                    .to_owned(),
            )),
        }
    }
}

fn hook_trigger(hook: &str) -> Result<TaskTrigger, TimeError> {
    let is_good = hook.len() <= MAX_NAME_CHARS
        && hook.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !is_good {
        return Err(TimeError::When(
            "The name of a hook has 1 to 100 of a-z, A-Z, 0-9, - and _.".to_owned(),
        ));
    }
    Ok(TaskTrigger::Hook { hook: hook.to_owned(), secret: format!("hook-{hook}") })
}

fn change_trigger(glob: &str) -> Result<TaskTrigger, TimeError> {
    let is_inside = !glob.starts_with('/') && !glob.split('/').any(|part| part == "..");
    if !is_inside || glob.chars().count() > MAX_NAME_CHARS || Glob::new(glob).is_err() {
        let shown: String = glob.chars().filter(|c| !c.is_control()).take(60).collect();
        return Err(TimeError::When(format!(
            "\"{shown}\" is not a glob below the workspace, such as src/**/*.rs."
        )));
    }
    Ok(TaskTrigger::Change { glob: glob.to_owned() })
}

fn mail_trigger(filter: &MailFilter) -> Result<TaskTrigger, TimeError> {
    let kept = |text: &Option<String>| given(text.as_deref()).map(str::to_owned);
    let filter = MailFilter {
        account: kept(&filter.account),
        from: kept(&filter.from),
        subject: kept(&filter.subject),
    };
    let parts = [&filter.account, &filter.from, &filter.subject];
    let is_bad = |text: &&String| {
        text.chars().count() > MAX_NAME_CHARS || text.chars().any(char::is_control)
    };
    if parts.into_iter().flatten().any(|text| is_bad(&text)) {
        return Err(TimeError::When(
            "account, from and subject of on_mail are one line of at most 100 characters each."
                .to_owned(),
        ));
    }
    Ok(TaskTrigger::Mail { filter })
}

fn refuse_past(time: Timestamp, zone: &TimeZone, now: Timestamp) -> Result<(), TimeError> {
    if time.as_millisecond() < now.as_millisecond() - PAST_MS {
        return Err(TimeError::Past {
            given: format_instant(time, zone),
            now: format_instant(now, zone),
        });
    }
    Ok(())
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}
