//! Recurrences from a first time on, given as words.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use toolcrib_core::DailyHours;

use super::daily_hours;
use super::error::{TimeError, shown};
use super::instant::{LocalTime, resolve};

/// Longest interval: a day.
pub const MAX_INTERVAL_MINUTES: u32 = 1_440;
/// Maximum periods that are examined after the estimate: gaps and weekends never skip more.
const MAX_LOOK: i64 = 40;
/// Maximum days whose hours are examined: an interval of nearly a day needs as many until it meets
/// hours of one minute.
const MAX_DAYS: usize = 1_500;

/// The frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecurrenceWord {
    /// Every day at the same local time.
    Daily,
    /// Every week on the same day at the same local time.
    Weekly,
    /// Every month on the same day, or on the last day of shorter months.
    Monthly,
    /// From Monday to Friday at the same local time.
    Weekdays,
    /// Every hour of elapsed time.
    Hourly,
    /// Every so many minutes of elapsed time.
    Interval(u32),
}

impl fmt::Display for RecurrenceWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daily => f.write_str("daily"),
            Self::Weekly => f.write_str("weekly"),
            Self::Monthly => f.write_str("monthly"),
            Self::Weekdays => f.write_str("weekdays"),
            Self::Hourly => f.write_str("hourly"),
            Self::Interval(minutes) => write!(f, "interval:{minutes}"),
        }
    }
}

impl FromStr for RecurrenceWord {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let word = text.trim().to_ascii_lowercase();
        match word.as_str() {
            "daily" => Ok(Self::Daily),
            "weekly" => Ok(Self::Weekly),
            "monthly" => Ok(Self::Monthly),
            "weekdays" => Ok(Self::Weekdays),
            "hourly" => Ok(Self::Hourly),
            _ => word
                .strip_prefix("interval:")
                .map(str::trim)
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|digits| digits.parse().ok())
                .filter(|minutes| (1..=MAX_INTERVAL_MINUTES).contains(minutes))
                .map(Self::Interval)
                .ok_or_else(|| TimeError::Recurrence(shown(text))),
        }
    }
}

/// A recurrence with its first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recurrence {
    /// The frequency.
    pub word: RecurrenceWord,
    /// The first time.
    pub first: LocalTime,
    /// The hours of the day to which times are limited.
    pub within: Option<DailyHours>,
}

impl Recurrence {
    /// Returns the first instant after this one; `None` beyond the supported range, or if no time
    /// is in the hours.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let Some(hours) = self.within else { return self.any_after(after, zone) };
        let mut next = self.any_after(after, zone)?;
        for _ in 0..MAX_DAYS {
            if daily_hours::contains(hours, next, zone) {
                return Some(next);
            }
            let start = daily_hours::next_start(hours, next, zone)?;
            let before = Timestamp::from_nanosecond(start.as_nanosecond() - 1).ok()?;
            next = self.any_after(before, zone)?;
        }
        None
    }

    fn any_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self.word {
            RecurrenceWord::Hourly => self.next_in_real_time(after, 60),
            RecurrenceWord::Interval(minutes) => self.next_in_real_time(after, minutes),
            word => self.next_on_the_clock(after, zone, word),
        }
    }

    fn next_in_real_time(&self, after: Timestamp, minutes: u32) -> Option<Timestamp> {
        let first = self.first.instant;
        if after < first {
            return Some(first);
        }
        let period = i128::from(minutes) * 60 * 1_000_000_000;
        let periods = (after.as_nanosecond() - first.as_nanosecond()) / period + 1;
        Timestamp::from_nanosecond(first.as_nanosecond() + periods * period).ok()
    }

    fn next_on_the_clock(
        &self,
        after: Timestamp,
        zone: &TimeZone,
        word: RecurrenceWord,
    ) -> Option<Timestamp> {
        let first = self.first.civil;
        let passed = zone.to_datetime(after).date();
        let days = i64::from(first.date().until(passed).ok()?.get_days());
        let months = i64::from(passed.year() - first.year()) * 12
            + i64::from(passed.month() - first.month());
        // The period before the estimate may still be in the future: the clock may have been set
        // back.
        let estimate = match word {
            RecurrenceWord::Weekly => days / 7,
            RecurrenceWord::Monthly => months,
            _ => days,
        };
        let start = (estimate - 1).max(0);
        for period in start..start + MAX_LOOK {
            let span = match word {
                RecurrenceWord::Weekly => Span::new().try_weeks(period),
                RecurrenceWord::Monthly => Span::new().try_months(period),
                _ => Span::new().try_days(period),
            };
            let local = first.checked_add(span.ok()?).ok()?;
            if word == RecurrenceWord::Weekdays && is_weekend(local) {
                continue;
            }
            let instant = if period == 0 { self.first.instant } else { resolve(local, zone)? };
            if instant > after {
                return Some(instant);
            }
        }
        None
    }
}

fn is_weekend(local: DateTime) -> bool {
    matches!(local.weekday(), Weekday::Saturday | Weekday::Sunday)
}
