//! Local times and the instants that they mean.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};

use super::error::{TimeError, shown};

/// RFC 3339 with the offset.
const RFC_3339: &str = "%Y-%m-%dT%H:%M:%S%:z";

/// A time on the clock of a zone, and the instant that it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    /// What the clock shows, also if it skips that time.
    pub civil: DateTime,
    /// The instant.
    pub instant: Timestamp,
}

/// The zone of this name; `None` or an empty name = the system's.
///
/// # Errors
/// [`TimeError::Zone`].
pub fn parse_zone(name: Option<&str>) -> Result<TimeZone, TimeError> {
    match name.map(str::trim) {
        None | Some("" | "local") => Ok(TimeZone::system()),
        Some("Z" | "z") => Ok(TimeZone::UTC),
        Some(name) => TimeZone::get(name).map_err(|_| TimeError::Zone(shown(name))),
    }
}

/// Reads a time in ISO 8601: with an offset, or without one in this zone. A date alone is its
/// midnight.
///
/// # Errors
/// [`TimeError::Time`].
pub fn parse_local_time(text: &str, zone: &TimeZone) -> Result<LocalTime, TimeError> {
    let text = text.trim();
    let refuse = || TimeError::Time(shown(text));
    if let Ok(zoned) = text.parse::<Zoned>() {
        let instant = zoned.timestamp();
        return Ok(LocalTime { civil: zone.to_datetime(instant), instant });
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(LocalTime { civil: zone.to_datetime(instant), instant });
    }
    // Digits before a colon that is no part of the time would be an offset that did not parse.
    let civil: DateTime = text.parse().map_err(|_| refuse())?;
    let has_zone = text.contains('[') || text.ends_with(['Z', 'z']);
    let has_offset = text.get(10..).is_some_and(|time| time.contains(['+', '-']));
    if has_zone || has_offset {
        return Err(refuse());
    }
    Ok(LocalTime { civil, instant: resolve(civil, zone).ok_or_else(refuse)? })
}

/// The instant of a fixed time: the first after the gap if the clock skips it, the first of both if
/// the clock shows it twice. `None` at the ends of time.
#[must_use]
pub fn resolve(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
        AmbiguousOffset::Gap { before, .. } => {
            // With the offset of before, a skipped time is at or after the change.
            let beyond = before.to_timestamp(civil).ok()?;
            let inclusive = beyond.checked_add(jiff::Span::new().nanoseconds(1)).ok()?;
            Some(zone.preceding(inclusive).next().map_or(beyond, |change| change.timestamp()))
        }
    }
}

/// An instant in RFC 3339 with the zone's offset.
#[must_use]
pub fn format_instant(instant: Timestamp, zone: &TimeZone) -> String {
    instant.to_zoned(zone.clone()).strftime(RFC_3339).to_string()
}
