//! Busy times from events of calendar files (RFC 5545).
#![deny(clippy::indexing_slicing)]

use icalendar::{Calendar, CalendarComponent, Component as _, Property};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

use crate::time::resolve;

/// Maximum busy times; no person's calendar has more after overlaps are merged.
const MAX_TIMES: usize = 20_000;

/// A start and an end.
pub type Interval = (Timestamp, Timestamp);

/// The busy times of a calendar.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BusyTimes {
    /// The intervals in order, without overlaps.
    pub times: Vec<Interval>,
    /// Number of repeated events of which only the first occurrence is known, because the server
    /// did not expand the others.
    pub unexpanded: usize,
    /// Whether the calendar has more events than are examined.
    pub is_cut: bool,
}

/// Returns the busy times of these files between two times. Events that are transparent, cancelled
/// or unreadable count as free.
pub(super) fn busy_times(
    files: &[String],
    from: Timestamp,
    until: Timestamp,
    zone: &TimeZone,
) -> BusyTimes {
    let mut busy = BusyTimes::default();
    for file in files {
        let Ok(calendar) = file.parse::<Calendar>() else { continue };
        for component in &calendar.components {
            let CalendarComponent::Event(event) = component else { continue };
            let is_free = event.property_value("TRANSP") == Some("TRANSPARENT")
                || event.property_value("STATUS") == Some("CANCELLED");
            if is_free {
                continue;
            }
            busy.unexpanded += usize::from(event.property_value("RRULE").is_some());
            let Some((start, end)) = interval(event, zone) else { continue };
            if end <= from || start >= until {
                continue;
            }
            if busy.times.len() >= MAX_TIMES {
                busy.is_cut = true;
                break;
            }
            busy.times.push((start.max(from), end.min(until)));
        }
    }
    busy.times = merged(busy.times);
    busy
}

/// Returns start and end of an event. Without DTEND and DURATION, a date lasts its day and a time
/// has no duration (RFC 5545, 3.6.1).
fn interval(event: &icalendar::Event, zone: &TimeZone) -> Option<Interval> {
    let start_property = event.properties().get("DTSTART")?;
    let start = instant(start_property, zone)?;
    if let Some(end) = event.properties().get("DTEND") {
        return Some((start, instant(end, zone)?));
    }
    let length = match event.property_value("DURATION") {
        Some(text) => {
            let span: Span = text.parse().ok()?;
            span.to_duration(&start.to_zoned(zone.clone())).ok()?
        }
        None if start_property.value().len() == DATE_CHARS => SignedDuration::from_hours(24),
        None => return None,
    };
    Some((start, start.checked_add(length).ok()?))
}

/// Number of characters of a date, such as 20261224.
const DATE_CHARS: usize = 8;

/// Parses `20261224`, `20261224T090000Z` or `20261224T090000`, in the zone of the property.
fn instant(property: &Property, zone: &TimeZone) -> Option<Timestamp> {
    let text = property.value();
    if text.len() == DATE_CHARS {
        let midnight =
            Date::strptime("%Y%m%d", text).ok()?.to_datetime(jiff::civil::Time::midnight());
        return resolve(midnight, zone);
    }
    if let Some(utc) = text.strip_suffix('Z') {
        let utc = DateTime::strptime("%Y%m%dT%H%M%S", utc).ok()?;
        return resolve(utc, &TimeZone::UTC);
    }
    let local = DateTime::strptime("%Y%m%dT%H%M%S", text).ok()?;
    let own = property.params().get("TZID").and_then(|name| TimeZone::get(name.value()).ok());
    resolve(local, own.as_ref().unwrap_or(zone))
}

fn merged(mut times: Vec<Interval>) -> Vec<Interval> {
    times.retain(|(start, end)| start < end);
    times.sort_unstable();
    let mut merged: Vec<Interval> = Vec::with_capacity(times.len());
    for (start, end) in times {
        match merged.last_mut() {
            Some((_, last)) if start <= *last => *last = end.max(*last),
            _ => merged.push((start, end)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn busy(events: &[&str]) -> BusyTimes {
        let file = |event: &&str| {
            format!(
                "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\n{event}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
            )
        };
        let files: Vec<String> = events.iter().map(file).collect();
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        busy_times(&files, at("2026-12-01T00:00Z"), at("2026-12-08T00:00Z"), &zone)
    }

    #[test]
    fn every_form_of_a_time_is_read() {
        for (event, start, end) in [
            ("DTSTART:20261201T100000Z\r\nDTEND:20261201T110000Z", "01T10:00", "01T11:00"),
            (
                "DTSTART;TZID=America/New_York:20261201T100000\r\nDURATION:PT1H30M",
                "01T15:00",
                "01T16:30",
            ),
            ("DTSTART:20261201T100000\r\nDURATION:P1D", "01T09:00", "02T09:00"),
            ("DTSTART;VALUE=DATE:20261203", "02T23:00", "03T23:00"),
            ("DTSTART;VALUE=DATE:20261203\r\nDTEND;VALUE=DATE:20261205", "02T23:00", "04T23:00"),
        ] {
            let expected = (at(&format!("2026-12-{start}Z")), at(&format!("2026-12-{end}Z")));
            assert_eq!(busy(&[event]).times, [expected], "{event}");
        }
    }

    #[test]
    fn transparent_and_cancelled_events_are_left_out_and_the_rest_is_merged() {
        let free = [
            "DTSTART:20261201T100000Z",
            "DTSTART:20261201T100000Z\r\nDTEND:20261201T110000Z\r\nTRANSP:TRANSPARENT",
            "DTSTART:20261201T100000Z\r\nDTEND:20261201T110000Z\r\nSTATUS:CANCELLED",
            "DTSTART:20270101T100000Z\r\nDTEND:20270101T110000Z",
            "DTSTART:nonsense\r\nDTEND:20261201T110000Z",
            "DTSTART:20261202T100000Z\r\nDTEND:20261201T110000Z",
        ];
        assert_eq!(busy(&free), BusyTimes::default());
        let overlapping = [
            "DTSTART:20261201T103000Z\r\nDTEND:20261201T120000Z",
            "DTSTART:20261130T100000Z\r\nDTEND:20261201T110000Z\r\nRRULE:FREQ=DAILY",
            "DTSTART:20261201T120000Z\r\nDTEND:20261201T121500Z",
        ];
        let all = busy(&overlapping);
        assert_eq!(all.times, [(at("2026-12-01T00:00Z"), at("2026-12-01T12:15Z"))]);
        assert_eq!((all.unexpanded, all.is_cut), (1, false));
    }

    #[test]
    fn a_calendar_file_with_a_million_recurrences_ends_with_what_is_looked_at() {
        // The response of a server that expands a rule of every second.
        let mut file = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n".to_owned();
        for n in 0..MAX_TIMES + 10 {
            let (hour, minute, second) = (n / 3_600 % 24, n / 60 % 60, n % 60);
            file += &format!(
                "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261201T{hour:02}{minute:02}{second:02}Z\r\nDURATION:PT1S\r\nEND:VEVENT\r\n"
            );
        }
        file += "END:VCALENDAR\r\n";
        let zone = TimeZone::UTC;
        let busy = busy_times(&[file], at("2026-12-01T00:00Z"), at("2026-12-08T00:00Z"), &zone);
        assert!(busy.is_cut);
        assert_eq!(busy.times, [(at("2026-12-01T00:00Z"), at("2026-12-01T05:33:20Z"))]);
        // The rule itself, from a server that does not expand it, is one event.
        let rule = "DTSTART:20261201T000000Z\r\nDURATION:PT1S\r\nRRULE:FREQ=SECONDLY;COUNT=1000000";
        let all = super::tests::busy(&[rule]);
        assert_eq!((all.times.len(), all.unexpanded), (1, 1));
    }
}
