//! An event as an iCalendar file (RFC 5545).
//!
//! The crates for this format do not write VTIMEZONE, which the standard requires for times in a
//! zone; apart from that, the format consists only of line folding and escaping.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::event::{Event, EventTime};
use super::time_zone::write_zone;

/// Maximum octets of a line without its end.
const MAX_OCTETS: usize = 75;
/// Number of years that the zone of a repeated event covers.
const ZONE_YEARS: i64 = 20;
const LOCAL: &str = "%Y%m%dT%H%M%S";
const DATE: &str = "%Y%m%d";

/// Content lines, folded.
#[derive(Default)]
pub(super) struct Lines(String);

impl Lines {
    /// Adds a line. A line of more than 75 octets is folded between characters.
    pub(super) fn line(&mut self, text: &str) {
        let mut octets = 0;
        for c in text.chars() {
            if octets + c.len_utf8() > MAX_OCTETS {
                self.0.push_str("\r\n ");
                octets = 1;
            }
            self.0.push(c);
            octets += c.len_utf8();
        }
        self.0.push_str("\r\n");
    }
}

/// Creates the file of an event. `uid` identifies the event permanently.
#[must_use]
pub fn to_ics(event: &Event, uid: &str, now: Timestamp) -> String {
    let mut lines = Lines::default();
    for line in ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Toolcrib//Toolcrib//EN"] {
        lines.line(line);
    }
    let zone_name = zone_name(event);
    if let (Some(name), EventTime::Times { start, end }) = (&zone_name, &event.time) {
        let years =
            SignedDuration::from_hours(if event.rule.is_some() { ZONE_YEARS * 8_766 } else { 0 });
        let until = end.instant.checked_add(years).unwrap_or(end.instant);
        write_zone(&mut lines, name, &event.zone, start.instant, until);
    }
    lines.line("BEGIN:VEVENT");
    lines.line(&format!("UID:{uid}"));
    lines.line(&format!("DTSTAMP:{}Z", now.to_zoned(TimeZone::UTC).strftime(LOCAL)));
    write_time(&mut lines, event, zone_name.as_deref());
    lines.line(&format!("SUMMARY:{}", escape(&event.title)));
    if let Some(rule) = &event.rule {
        lines.line(&format!("RRULE:{rule}"));
    }
    if let Some(place) = &event.location {
        lines.line(&format!("LOCATION:{}", escape(place)));
    }
    if let Some(text) = &event.description {
        lines.line(&format!("DESCRIPTION:{}", escape(text)));
    }
    for address in &event.attendees {
        lines.line(&format!(
            "ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:{address}"
        ));
    }
    for minutes in &event.reminders {
        lines.line("BEGIN:VALARM");
        lines.line("ACTION:DISPLAY");
        lines.line(&format!("DESCRIPTION:{}", escape(&event.title)));
        lines.line(&format!("TRIGGER:-PT{minutes}M"));
        lines.line("END:VALARM");
    }
    lines.line("END:VEVENT");
    lines.line("END:VCALENDAR");
    lines.0
}

/// Returns the zone of the times; `None` if they are in UTC.
fn zone_name(event: &Event) -> Option<String> {
    let name = event.zone.iana_name()?;
    (!["UTC", "Etc/UTC", "Etc/Unknown"].contains(&name)).then(|| name.to_owned())
}

fn write_time(lines: &mut Lines, event: &Event, zone: Option<&str>) {
    match &event.time {
        EventTime::Days { start, end } => {
            lines.line(&format!("DTSTART;VALUE=DATE:{}", start.strftime(DATE)));
            lines.line(&format!("DTEND;VALUE=DATE:{}", end.strftime(DATE)));
        }
        EventTime::Times { start, end } => {
            for (name, time) in [("DTSTART", start.instant), ("DTEND", end.instant)] {
                let line = match zone {
                    // Convert from the instant, so that a time in a clock gap becomes a valid one.
                    Some(zone) => {
                        let local = event.zone.to_datetime(time);
                        format!("{name};TZID={zone}:{}", local.strftime(LOCAL))
                    }
                    None => format!("{name}:{}Z", TimeZone::UTC.to_datetime(time).strftime(LOCAL)),
                };
                lines.line(&line);
            }
        }
    }
}

/// Escapes a text value: backslash, comma, semicolon and line ends.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for c in text.chars() {
        match c {
            '\\' | ',' | ';' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\n' => escaped.push_str("\\n"),
            c => escaped.push(c),
        }
    }
    escaped
}
