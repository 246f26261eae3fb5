//! Finds the next instant of a time of the day.

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::instant::resolve;

/// Returns the first instant after `after` with this time of the day; `None` beyond the supported
/// range.
#[must_use]
pub fn next_time_of_day(time: Time, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let mut day = zone.to_datetime(after).date();
    // Today's time may have passed, but tomorrow's never has.
    for _ in 0..2 {
        let instant = resolve(day.to_datetime(time), zone)?;
        if instant > after {
            return Some(instant);
        }
        day = day.tomorrow().ok()?;
    }
    None
}
