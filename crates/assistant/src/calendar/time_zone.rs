//! The VTIMEZONE of a zone (RFC 5545, section 3.6.5), for the years of an event.
//!
//! Readers that know the IANA name use their own rules; others need the clock changes. They are
//! listed as dates (RDATE), because the database contains changes and no rules.

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::ics::Lines;

/// Maximum number of listed changes: two a year for more than thirty years.
const MAX_CHANGES: usize = 70;
/// Date and time of a property.
const LOCAL: &str = "%Y%m%dT%H%M%S";

/// Clock changes of one kind.
struct Observance {
    is_dst: bool,
    name: String,
    from: Offset,
    to: Offset,
    /// Local times of the changes.
    at: Vec<String>,
}

/// Writes the zone from the last change before `start` until `end`.
pub(super) fn write_zone(
    lines: &mut Lines,
    name: &str,
    zone: &TimeZone,
    start: Timestamp,
    end: Timestamp,
) {
    lines.line("BEGIN:VTIMEZONE");
    lines.line(&format!("TZID:{name}"));
    for one in observances(zone, start, end) {
        let kind = if one.is_dst { "DAYLIGHT" } else { "STANDARD" };
        lines.line(&format!("BEGIN:{kind}"));
        let (first, rest) = match one.at.split_first() {
            Some((first, rest)) => (first.clone(), rest),
            None => ("19700101T000000".to_owned(), Default::default()),
        };
        lines.line(&format!("DTSTART:{first}"));
        if !rest.is_empty() {
            lines.line(&format!("RDATE:{}", rest.join(",")));
        }
        lines.line(&format!("TZOFFSETFROM:{}", offset(one.from)));
        lines.line(&format!("TZOFFSETTO:{}", offset(one.to)));
        lines.line(&format!("TZNAME:{}", one.name));
        lines.line(&format!("END:{kind}"));
    }
    lines.line("END:VTIMEZONE");
}

fn observances(zone: &TimeZone, start: Timestamp, end: Timestamp) -> Vec<Observance> {
    let mut all: Vec<Observance> = Vec::new();
    let before = zone.preceding(start).next();
    let after = zone.following(start).take_while(|change| change.timestamp() <= end);
    for change in before.into_iter().chain(after).take(MAX_CHANGES) {
        let instant = change.timestamp();
        // The offset just before the change.
        let earlier = instant - SignedDuration::from_nanos(1);
        let from = zone.to_offset(earlier);
        let at = from.to_datetime(instant).strftime(LOCAL).to_string();
        let (to, name) = (change.offset(), change.abbreviation().to_owned());
        let is_dst = change.dst().is_dst();
        let same = all
            .iter_mut()
            .find(|one| (one.is_dst, one.from, one.to, &one.name) == (is_dst, from, to, &name));
        match same {
            Some(one) => one.at.push(at),
            None => all.push(Observance { is_dst, name, from, to, at: vec![at] }),
        }
    }
    if all.is_empty() {
        let info = zone.to_offset_info(start);
        let (to, name) = (info.offset(), info.abbreviation().to_owned());
        all.push(Observance { is_dst: false, name, from: to, to, at: Vec::new() });
    }
    all
}

/// Renders an offset: `+0100`, `-0330`; with seconds only if the zone has them.
fn offset(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.unsigned_abs();
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match rest {
        0 => format!("{sign}{hours:02}{minutes:02}"),
        rest => format!("{sign}{hours:02}{minutes:02}{rest:02}"),
    }
}
