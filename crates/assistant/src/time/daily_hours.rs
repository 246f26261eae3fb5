//! A period of each day: parses it, and finds the times in it.

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use toolcrib_core::DailyHours;

use super::error::{TimeError, shown};
use super::instant::resolve;

/// Minutes of a day.
const DAY: u16 = 1_440;

/// Parses the first and the last time, such as `9:00` and `17:30`; `24:00` is the end of the day.
///
/// # Errors
/// [`TimeError::When`] if one is missing or invalid, or both are the same.
pub fn parse_daily_hours(
    start: Option<&str>,
    end: Option<&str>,
) -> Result<Option<DailyHours>, TimeError> {
    let (Some(start), Some(end)) = (start, end) else {
        if start.is_none() && end.is_none() {
            return Ok(None);
        }
        return Err(TimeError::When(
            "window_start and window_end belong together, such as 9:00 and 17:00.".to_owned(),
        ));
    };
    let hours = DailyHours { start: minute(start)?, end: minute(end)? };
    if hours.start == hours.end || hours.start == DAY {
        return Err(TimeError::When(
            "window_start and window_end must be different times of the day.".to_owned(),
        ));
    }
    Ok(Some(hours))
}

fn minute(text: &str) -> Result<u16, TimeError> {
    let read = || -> Option<u16> {
        let (hour, minute) = text.trim().split_once(':').unwrap_or((text.trim(), "0"));
        let is_number =
            |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(hour) || !is_number(minute) {
            return None;
        }
        let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
        let of_day = hour * 60 + minute;
        (minute < 60 && of_day <= DAY).then_some(of_day)
    };
    read().ok_or_else(|| {
        TimeError::When(format!(
            "\"{}\" is not a time of the day. Write it as 9:00 or 17:30.",
            shown(text)
        ))
    })
}

/// Returns whether the local time is in these hours.
pub(super) fn contains(hours: DailyHours, at: Timestamp, zone: &TimeZone) -> bool {
    let local = zone.to_datetime(at);
    let minute = u16::try_from(i32::from(local.hour()) * 60 + i32::from(local.minute()));
    let minute = minute.unwrap_or(0);
    let DailyHours { start, end } = hours;
    if start < end { (start..end).contains(&minute) } else { minute >= start || minute < end }
}

/// Returns the next start of these hours after a time outside of them.
pub(super) fn next_start(
    hours: DailyHours,
    after: Timestamp,
    zone: &TimeZone,
) -> Option<Timestamp> {
    let part = |number: u16| i8::try_from(number).ok();
    let time = Time::new(part(hours.start / 60)?, part(hours.start % 60)?, 0, 0).ok()?;
    let mut day = zone.to_datetime(after).date();
    for _ in 0..3 {
        let start = resolve(day.to_datetime(time), zone)?;
        if start > after {
            return Some(start);
        }
        day = day.tomorrow().ok()?;
    }
    None
}

/// Renders a minute of the day as `9:00`.
pub(super) fn clock(minute: u16) -> String {
    format!("{}:{:02}", minute / 60, minute % 60)
}
