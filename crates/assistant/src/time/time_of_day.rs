//! The next time at which the clock shows a time of the day.

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::instant::resolve;

/// The first instant after `after` that is this time of a day; `None` at the ends of time.
#[must_use]
pub fn next_time_of_day(time: Time, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let mut day = zone.to_datetime(after).date();
    // The time of today can be over, and that of tomorrow is never.
    for _ in 0..2 {
        let instant = resolve(day.to_datetime(time), zone)?;
        if instant > after {
            return Some(instant);
        }
        day = day.tomorrow().ok()?;
    }
    None
}
