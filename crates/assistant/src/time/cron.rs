//! Cron expressions: five fields; day of month and day of week must both match.
//!
//! The library parses the fields and finds matching local times. This module converts them to
//! instants.

use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::error::{TimeError, shown};
use super::instant::resolve;

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/// The fields with the names that they accept.
const FIELDS: [(&str, &[&str]); 5] = [
    ("minute", &[]),
    ("hour", &[]),
    ("day of month", &[]),
    ("month", &MONTHS),
    ("day of week", &DAYS),
];
/// Maximum characters of an expression: enough for every list.
const MAX_CHARS: usize = 400;
/// Maximum local times that are skipped because their instant has passed: more minutes than a day
/// has, since no clock ever changed by more than a day.
const MAX_PASSED: usize = 3_000;
/// Maximum clock changes that are examined for one instant. Zones change at most a few times a
/// year.
const MAX_CHANGES: usize = 4_000;

/// A cron expression.
#[derive(Debug, Clone)]
pub struct Cron {
    text: String,
    pattern: croner::Cron,
    /// Whether it follows elapsed time instead of fixed local times.
    follows_real_time: bool,
}

impl Cron {
    /// Parses an expression.
    ///
    /// # Errors
    /// [`TimeError::Cron`], and [`TimeError::Never`] if no date matches.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let text = text.trim();
        let refuse = |why: String| TimeError::Cron { cron: shown(text), why };
        if text.chars().count() > MAX_CHARS {
            return Err(refuse(format!("it has more than {MAX_CHARS} characters")));
        }
        let fields: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
        if fields.len() != FIELDS.len() {
            return Err(refuse(format!("it has {} fields", fields.len())));
        }
        for (field, (name, words)) in fields.iter().zip(FIELDS) {
            if !field.split(',').all(|part| is_part(part, words)) {
                let field = shown(field);
                return Err(refuse(format!(
                    "the {name} \"{field}\" is not a list of numbers, ranges and steps"
                )));
            }
        }
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .dom_and_dow(true)
            .build();
        let pattern = parser
            .parse(&fields.join(" "))
            .map_err(|_| refuse("a number is out of its range".to_owned()))?;
        // An expression for every hour, or with steps of hours, follows elapsed time; others name
        // fixed local times.
        let hour = &fields[1];
        let follows_real_time = hour == "*" || hour.contains('/');
        let cron = Self { text: fields.join(" "), pattern, follows_real_time };
        // Refuse expressions that no date matches, such as February 30.
        let start = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);
        match cron.next_local(start, true) {
            Some(_) => Ok(cron),
            None => Err(TimeError::Never(shown(text))),
        }
    }

    /// Returns the expression.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the first instant after this one; `None` beyond the supported range.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if self.follows_real_time {
            self.next_in_real_time(after, zone)
        } else {
            self.next_fixed(after, zone)
        }
    }

    fn next_local(&self, from: DateTime, inclusive: bool) -> Option<DateTime> {
        self.pattern.find_next_occurrence(&from, inclusive).ok()
    }

    /// Finds the next fixed time: the instants never decrease, so the first one in the future is
    /// the next.
    fn next_fixed(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut local = whole_second(zone.to_datetime(after));
        for _ in 0..MAX_PASSED {
            local = self.next_local(local, false)?;
            let instant = resolve(local, zone)?;
            if instant > after {
                return Some(instant);
            }
        }
        None
    }

    /// Finds the next time in elapsed time: between two clock changes, local and elapsed time
    /// advance equally.
    fn next_in_real_time(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let (mut from, mut inclusive) = (after, false);
        for _ in 0..MAX_CHANGES {
            let offset = zone.to_offset(from);
            let change = zone.following(from).next().map(|change| change.timestamp());
            let local = whole_second(offset.to_datetime(from));
            let found = self.next_local(local, inclusive)?;
            let instant = offset.to_timestamp(found).ok()?;
            match change {
                Some(change) if instant >= change => (from, inclusive) = (change, true),
                _ => return Some(instant),
            }
        }
        None
    }
}

/// Removes fractions: expressions count whole seconds.
fn whole_second(local: DateTime) -> DateTime {
    local.with().subsec_nanosecond(0).build().unwrap_or(local)
}

/// Returns whether a part of a list is `*`, a value or a range, with or without a step.
fn is_part(part: &str, words: &[&str]) -> bool {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (part, None),
    };
    let is_number = |text: &str| {
        (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_value = |text: &str| is_number(text) || words.contains(&text);
    let is_range = match range.split_once('-') {
        Some((first, last)) => is_value(first) && is_value(last),
        None => range == "*" || (is_value(range) && step.is_none()),
    };
    is_range && step.is_none_or(|step| is_number(step) && step != "0" && step != "00")
}
