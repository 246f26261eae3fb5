//! Ranges of time, as words or between two times.

use std::ops::Range;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::error::{TimeError, shown};
use super::instant::{parse_local_time, resolve};

/// Parses `today`, `tomorrow`, `week` and `month` (from today on), or `START/END` with dates or
/// times; the day of an end date belongs to the range.
///
/// # Errors
/// [`TimeError::When`], which names the forms.
pub fn parse_time_range(
    text: &str,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Range<Timestamp>, TimeError> {
    let today = zone.to_datetime(now).date();
    let days = |from: i64, to: i64| -> Option<Range<Timestamp>> {
        Some(midnight(today, from, zone)?..midnight(today, to, zone)?)
    };
    let range = match text.trim().to_ascii_lowercase().as_str() {
        "today" => days(0, 1),
        "tomorrow" => days(1, 2),
        "week" => days(0, 7),
        "month" => days(0, 31),
        other => other.split_once('/').and_then(|(start, end)| between(start, end, zone)),
    };
    range.filter(|range| range.start < range.end).ok_or_else(|| {
        TimeError::When(format!(
            "\"{}\" is no range of time. Use today, tomorrow, week, month, or START/END such as 2026-12-01/2026-12-08.",
            shown(text)
        ))
    })
}

fn midnight(day: Date, later: i64, zone: &TimeZone) -> Option<Timestamp> {
    let day = day.checked_add(Span::new().try_days(later).ok()?).ok()?;
    resolve(day.at(0, 0, 0, 0), zone)
}

fn between(start: &str, end: &str, zone: &TimeZone) -> Option<Range<Timestamp>> {
    let at = |text: &str, later: i64| match text.trim().parse::<Date>() {
        Ok(day) if text.trim().len() <= 10 => midnight(day, later, zone),
        _ => parse_local_time(&text.to_ascii_uppercase(), zone).ok().map(|time| time.instant),
    };
    Some(at(start, 0)?..at(end, 1)?)
}
