//! Every few minutes in a daily period.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::instant::resolve;

/// Every few minutes of elapsed time, while the local hour is in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Minutes between two times.
    pub minutes: u32,
    /// First local hour, 0 to 23.
    pub start: u8,
    /// Local hour at which it ends, 1 to 24.
    pub end: u8,
}

impl Window {
    /// Returns the time after this one: after the interval, or at the next start of the range.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let step = SignedDuration::from_mins(i64::from(self.minutes.max(1)));
        let next = after.checked_add(step).ok()?;
        let local = zone.to_datetime(next);
        let hour = u8::try_from(local.hour()).ok()?;
        if (self.start..self.end).contains(&hour) {
            return Some(next);
        }
        let day = if hour < self.start { local.date() } else { local.date().tomorrow().ok()? };
        let start = Time::new(i8::try_from(self.start).ok()?, 0, 0, 0).ok()?;
        resolve(day.to_datetime(start), zone)
    }
}
