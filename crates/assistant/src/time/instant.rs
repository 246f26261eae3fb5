//! Converts between local times and instants.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};

use super::error::{TimeError, shown};

/// RFC 3339 with the offset.
const RFC_3339: &str = "%Y-%m-%dT%H:%M:%S%:z";

/// A local time in a zone, and its instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    /// The local time, even if the clock skips it.
    pub civil: DateTime,
    /// The instant.
    pub instant: Timestamp,
}

/// Returns the zone of this name; the system's zone for `None` or an empty name.
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

/// Parses a time in ISO 8601, with an offset, or without one in this zone. A date alone means
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
    // A sign after the date would be an offset that could not be parsed.
    let civil: DateTime = text.parse().map_err(|_| refuse())?;
    let has_zone = text.contains('[') || text.ends_with(['Z', 'z']);
    let has_offset = text.get(10..).is_some_and(|time| time.contains(['+', '-']));
    if has_zone || has_offset {
        return Err(refuse());
    }
    Ok(LocalTime { civil, instant: resolve(civil, zone).ok_or_else(refuse)? })
}

/// Returns the instant of a fixed local time: the first instant after the gap if the clock skips
/// it, the first of both if the clock shows it twice. `None` beyond the supported range.
#[must_use]
pub fn resolve(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
        AmbiguousOffset::Gap { before, .. } => {
            // With the earlier offset, a skipped time is at or after the change.
            let beyond = before.to_timestamp(civil).ok()?;
            let inclusive = beyond.checked_add(jiff::Span::new().nanoseconds(1)).ok()?;
            Some(zone.preceding(inclusive).next().map_or(beyond, |change| change.timestamp()))
        }
    }
}

/// Renders an instant in RFC 3339 with the zone's offset.
#[must_use]
pub fn format_instant(instant: Timestamp, zone: &TimeZone) -> String {
    instant.to_zoned(zone.clone()).strftime(RFC_3339).to_string()
}
