//! A calendar event and its checks.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use toolcrib_core::ToolError;

use crate::time::{LocalTime, TimeError, format_instant, parse_local_time, parse_zone};

/// Maximum characters of a title and of a location.
const MAX_LINE_CHARS: usize = 200;
/// Maximum characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 4_000;
/// Maximum reminders of an event.
pub const MAX_REMINDERS: usize = 5;
/// Earliest reminder, in minutes before the start: four weeks.
const MAX_REMINDER_MINUTES: u32 = 40_320;
/// Maximum attendees of an event.
pub const MAX_ATTENDEES: usize = 50;
/// Maximum count of a repetition rule.
const MAX_COUNT: u32 = 1_000;
/// How far in the past an event may start.
const PAST: SignedDuration = SignedDuration::from_hours(24);
/// Length of an event without an end.
const DEFAULT_LENGTH: SignedDuration = SignedDuration::from_hours(1);
/// Longest event, in minutes: a year.
const MAX_MINUTES: i64 = 366 * 24 * 60;

/// An event as a caller describes it.
#[derive(Debug, Clone, Default)]
pub struct NewEvent {
    /// Title.
    pub title: String,
    /// Start in ISO 8601; a date for an all-day event.
    pub start: String,
    /// End, as the start; the last day of an all-day event.
    pub end: Option<String>,
    /// Length in minutes, instead of the end.
    pub minutes: Option<i64>,
    /// IANA name of the zone; `None` for the zone of this machine.
    pub zone: Option<String>,
    /// Whether it lasts whole days.
    pub all_day: bool,
    /// A recurrence word or an RRULE.
    pub recurrence: Option<String>,
    /// Minutes before the start.
    pub reminders: Vec<u32>,
    /// Mail addresses.
    pub attendees: Vec<String>,
    /// Notes.
    pub description: Option<String>,
    /// Location.
    pub location: Option<String>,
}

/// Start and end of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventTime {
    /// Whole days; the end is not part of it.
    Days {
        /// First day.
        start: Date,
        /// The day after the last one.
        end: Date,
    },
    /// A start and an end at a time of the day.
    Times {
        /// Start.
        start: LocalTime,
        /// End.
        end: LocalTime,
    },
}

/// A checked event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Title, one line.
    pub title: String,
    /// Start and end.
    pub time: EventTime,
    /// Its zone.
    pub zone: TimeZone,
    /// An RRULE without the name of the property.
    pub rule: Option<String>,
    /// Minutes before the start.
    pub reminders: Vec<u32>,
    /// Mail addresses.
    pub attendees: Vec<String>,
    /// Notes.
    pub description: Option<String>,
    /// Location.
    pub location: Option<String>,
}

/// Why an event cannot be created. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// A time or zone is invalid.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// Another value is invalid.
    #[error("{0}")]
    Invalid(String),
}

impl From<CalendarError> for ToolError {
    fn from(error: CalendarError) -> Self {
        Self::validation(error.to_string())
    }
}

impl NewEvent {
    /// Checks the event.
    ///
    /// # Errors
    /// [`CalendarError`] names the invalid value.
    pub fn check(self, now: Timestamp) -> Result<Event, CalendarError> {
        let zone = parse_zone(self.zone.as_deref())?;
        let time = self.time(&zone)?;
        let start = match &time {
            EventTime::Days { start, .. } => start
                .to_zoned(zone.clone())
                .map_err(|_| TimeError::Time(self.start.clone()))?
                .timestamp(),
            EventTime::Times { start, .. } => start.instant,
        };
        if start < now - PAST {
            let (given, now) = (format_instant(start, &zone), format_instant(now, &zone));
            return Err(TimeError::Past { given, now }.into());
        }
        let rule = given(self.recurrence.as_deref()).map(rule).transpose()?;
        Ok(Event {
            title: line("title", &self.title)?,
            time,
            zone,
            rule,
            reminders: reminders(self.reminders)?,
            attendees: attendees(&self.attendees)?,
            description: text(self.description.as_deref())?,
            location: given(self.location.as_deref())
                .map(|place| line("location", place))
                .transpose()?,
        })
    }

    fn time(&self, zone: &TimeZone) -> Result<EventTime, CalendarError> {
        let end = given(self.end.as_deref());
        if end.is_some() && self.minutes.is_some() {
            return invalid("Give either end_time or duration_minutes, not both.");
        }
        if self.minutes.is_some_and(|minutes| !(1..=MAX_MINUTES).contains(&minutes)) {
            return invalid("duration_minutes goes from 1 to 527040, which is a year.");
        }
        let start = parse_local_time(&self.start, zone)?;
        if self.all_day {
            if self.minutes.is_some() {
                return invalid(
                    "An all-day event has no duration_minutes. Give its last day as end_time.",
                );
            }
            let start = start.civil.date();
            let last = match end {
                Some(end) => parse_local_time(end, zone)?.civil.date(),
                None => start,
            };
            let end = last.tomorrow().map_err(|_| TimeError::Time(self.start.clone()))?;
            if last < start {
                return invalid("end_time is before start_time.");
            }
            return Ok(EventTime::Days { start, end });
        }
        let end = match end {
            Some(end) => parse_local_time(end, zone)?,
            None => {
                let length = self.minutes.map_or(DEFAULT_LENGTH, SignedDuration::from_mins);
                let instant = start.instant.checked_add(length);
                let instant = instant.map_err(|_| TimeError::Time(self.start.clone()))?;
                LocalTime { civil: zone.to_datetime(instant), instant }
            }
        };
        if end.instant <= start.instant {
            return invalid("end_time must be after start_time.");
        }
        Ok(EventTime::Times { start, end })
    }
}

fn invalid<T>(text: impl Into<String>) -> Result<T, CalendarError> {
    Err(CalendarError::Invalid(text.into()))
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn line(name: &str, text: &str) -> Result<String, CalendarError> {
    let text = text.trim();
    let is_good =
        (1..=MAX_LINE_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if is_good {
        return Ok(text.to_owned());
    }
    invalid(format!("{name} needs 1 to {MAX_LINE_CHARS} characters on one line."))
}

fn text(text: Option<&str>) -> Result<Option<String>, CalendarError> {
    let Some(text) = given(text) else { return Ok(None) };
    let has_control = text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    if has_control || text.chars().count() > MAX_DESCRIPTION_CHARS {
        return invalid(format!("description has at most {MAX_DESCRIPTION_CHARS} characters."));
    }
    Ok(Some(text.to_owned()))
}

fn reminders(mut minutes: Vec<u32>) -> Result<Vec<u32>, CalendarError> {
    minutes.sort_unstable();
    minutes.dedup();
    let is_good = minutes.len() <= MAX_REMINDERS
        && minutes.iter().all(|minutes| *minutes <= MAX_REMINDER_MINUTES);
    if is_good {
        return Ok(minutes);
    }
    invalid(format!(
        "An event has at most {MAX_REMINDERS} reminders, each at most {MAX_REMINDER_MINUTES} minutes (four weeks) before its start."
    ))
}

fn attendees(all: &[String]) -> Result<Vec<String>, CalendarError> {
    if all.len() > MAX_ATTENDEES {
        return invalid(format!("An event has at most {MAX_ATTENDEES} attendees."));
    }
    let check = |address: &String| {
        let address = address.trim();
        let parts = address.split_once('@');
        let is_good = parts.is_some_and(|(name, host)| {
            !name.is_empty() && host.contains('.') && !host.contains('@') && !host.ends_with('.')
        });
        let is_plain = address.len() <= 254
            && address.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>,;:\\".contains(&b));
        if is_good && is_plain {
            return Ok(address.to_owned());
        }
        let shown: String = address.chars().filter(|c| !c.is_control()).take(60).collect();
        invalid(format!("\"{shown}\" is not a mail address such as ann@example.com."))
    };
    all.iter().map(check).collect()
}

/// Converts a word to an RRULE, or checks an RRULE.
fn rule(text: &str) -> Result<String, CalendarError> {
    let word = match text.to_ascii_lowercase().as_str() {
        "daily" => Some("FREQ=DAILY"),
        "weekly" => Some("FREQ=WEEKLY"),
        "monthly" => Some("FREQ=MONTHLY"),
        "yearly" => Some("FREQ=YEARLY"),
        "weekdays" => Some("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        _ => None,
    };
    if let Some(rule) = word {
        return Ok(rule.to_owned());
    }
    let rule = text.to_ascii_uppercase();
    let rule = rule.strip_prefix("RRULE:").unwrap_or(&rule);
    if is_rule(rule) {
        return Ok(rule.to_owned());
    }
    let shown: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
    invalid(format!(
        "\"{shown}\" is not a recurrence. Use daily, weekly, monthly, yearly, weekdays, or an RRULE such as FREQ=WEEKLY;BYDAY=TU;COUNT=10 (at least daily; COUNT at most {MAX_COUNT})."
    ))
}

/// Returns whether this is a rule of RFC 5545, section 3.3.10, that uses only supported parts.
/// Rules that repeat within a day are not supported: a calendar would have to compute thousands of
/// repetitions.
fn is_rule(rule: &str) -> bool {
    let mut names = Vec::new();
    for part in rule.split(';') {
        let Some((name, value)) = part.split_once('=') else { return false };
        if names.contains(&name) || !is_rule_part(name, value) {
            return false;
        }
        names.push(name);
    }
    names.first() == Some(&"FREQ") && !(names.contains(&"COUNT") && names.contains(&"UNTIL"))
}

fn is_rule_part(name: &str, value: &str) -> bool {
    let number = |text: &str, most: i32| {
        text.parse::<i32>().is_ok_and(|number| number != 0 && number.abs() <= most)
    };
    let positive = |most: u32| value.parse::<u32>().is_ok_and(|n| (1..=most).contains(&n));
    let days = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
    match name {
        "FREQ" => ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"].contains(&value),
        "INTERVAL" => positive(1_000),
        "COUNT" => positive(MAX_COUNT),
        "UNTIL" => is_until(value),
        "BYDAY" => value.split(',').all(|day| {
            let at = day.len().saturating_sub(2);
            let (nth, day) = (day.get(..at), day.get(at..));
            day.is_some_and(|day| days.contains(&day))
                && nth.is_some_and(|nth| nth.is_empty() || number(nth, 53))
        }),
        "BYMONTHDAY" => value.split(',').all(|day| number(day, 31)),
        "BYMONTH" => value
            .split(',')
            .all(|month| month.parse::<u32>().is_ok_and(|month| (1..=12).contains(&month))),
        "BYSETPOS" => value.split(',').all(|place| number(place, 366)),
        "WKST" => days.contains(&value),
        _ => false,
    }
}

/// Returns whether the value is a date or a UTC time: `20261231` or `20261231T230000Z`.
fn is_until(value: &str) -> bool {
    let is_date = |text: &str| jiff::civil::Date::strptime("%Y%m%d", text).is_ok();
    match value.split_once('T') {
        None => value.len() == 8 && is_date(value),
        Some((date, time)) => {
            let digits = time.strip_suffix('Z').unwrap_or_default();
            is_date(date)
                && digits.len() == 6
                && jiff::civil::Time::strptime("%H%M%S", digits).is_ok()
        }
    }
}
