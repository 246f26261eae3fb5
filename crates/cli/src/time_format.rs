//! Parses times as people write them, and formats times for people.
#![deny(clippy::indexing_slicing)]

use jiff::civil::{Date, DateTime};
use jiff::fmt::friendly::SpanParser;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Parses a time, in milliseconds since 1970: an age (`90m`, `2h`, `3d`, `1w`), a date (its start),
/// or a date and time, local unless it has an offset.
///
/// # Errors
/// A message for people, with the text.
pub(crate) fn parse_time(text: &str) -> Result<i64, String> {
    parse_at(text.trim(), &Zoned::now()).map(Timestamp::as_millisecond).ok_or_else(|| {
        format!(
            "`{text}` is not a time; write an age such as 2h or 3d, a date such as 2026-11-21, or 2026-11-21T15:04:05Z"
        )
    })
}

fn parse_at(text: &str, now: &Zoned) -> Option<Timestamp> {
    // A bare number is ambiguous.
    if text.is_empty() || text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let zone = || now.time_zone().clone();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    if let Ok(time) = text.parse::<Zoned>() {
        return Some(time.timestamp());
    }
    if text.contains(':') {
        return Some(text.parse::<DateTime>().ok()?.to_zoned(zone()).ok()?.timestamp());
    }
    if let Ok(date) = text.parse::<Date>() {
        return Some(date.to_zoned(zone()).ok()?.timestamp());
    }
    let age = SpanParser::new().parse_span(text).ok()?.abs();
    Some(now.checked_sub(age).ok()?.timestamp())
}

/// Formats a time as local time.
pub(crate) fn format_local(ms: i64) -> String {
    format_in_zone(ms, TimeZone::system())
}

fn format_in_zone(ms: i64, zone: TimeZone) -> String {
    Timestamp::from_millisecond(ms)
        .map(|time| time.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_else(|_| "-".to_owned())
}

/// Formats an age in its largest unit: `12 s`, `5 min`, `3 h`, `2 d`. A future time, as after a
/// clock was set back, is `0 s`.
pub(crate) fn format_age(ms: i64, now_ms: i64) -> String {
    let seconds = now_ms.saturating_sub(ms).max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Formats an elapsed time.
pub(crate) fn format_elapsed(nanos: u64) -> String {
    let micros = nanos / 1000;
    match micros {
        0..1000 => format!("{micros} us"),
        1000..100_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        100_000..1_000_000 => format!("{} ms", micros / 1000),
        1_000_000..60_000_000 => {
            format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000)
        }
        _ => format!("{} min {:02} s", micros / 60_000_000, micros / 1_000_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments() {
        let now: Zoned = "2026-11-21T12:00:00+01:00[Europe/Vienna]".parse().unwrap();
        let check = |text: &str, expected: Option<&str>| {
            let expected: Option<Timestamp> = expected.map(|time| time.parse().unwrap());
            assert_eq!(parse_at(text, &now), expected, "{text}");
        };
        check("2h", Some("2026-11-21T09:00:00Z"));
        check("90m", Some("2026-11-21T09:30:00Z"));
        check("1h30m", Some("2026-11-21T09:30:00Z"));
        check("2h ago", Some("2026-11-21T09:00:00Z"));
        check("3d", Some("2026-11-18T11:00:00Z"));
        check("1w", Some("2026-11-14T11:00:00Z"));
        // Across the end of summer time, a day is a calendar day.
        check("30d", Some("2026-10-22T10:00:00Z"));
        check("2026-11-20", Some("2026-11-19T23:00:00Z"));
        check("2026-11-20T08:30:00", Some("2026-11-20T07:30:00Z"));
        check("2026-11-20 08:30", Some("2026-11-20T07:30:00Z"));
        check("2026-11-20T08:30:00Z", Some("2026-11-20T08:30:00Z"));
        check("2026-11-20T08:30:00-05:00", Some("2026-11-20T13:30:00Z"));
        for wrong in
            ["", "90", "soon", "2x", "h", "2026-13-01", "21.11.2026", "12:00", "9999999d", "2h:"]
        {
            check(wrong, None);
        }
        let error = parse_time("soon").unwrap_err();
        assert!(error.starts_with("`soon` is not a time; write an age such as 2h"), "{error}");
    }

    #[test]
    fn times_and_durations_for_people() {
        assert_eq!(format_in_zone(1_795_273_445_000, TimeZone::UTC), "2026-11-21 15:04:05");
        assert_eq!(format_in_zone(i64::MAX, TimeZone::UTC), "-");
        for (ms, expected) in [
            (-5, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (7_200_000, "2 h"),
            (200_000_000, "2 d"),
        ] {
            assert_eq!(format_age(0, ms), expected);
        }
        for (nanos, expected) in [
            (0, "0 us"),
            (999_999, "999 us"),
            (1_250_000, "1.2 ms"),
            (250_000_000, "250 ms"),
            (4_260_000_000, "4.2 s"),
            (123_000_000_000, "2 min 03 s"),
        ] {
            assert_eq!(format_elapsed(nanos), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_text_breaks_it(text in "\\PC{0,40}|[0-9a-zTZ:+ .-]{0,30}") {
            let _ = parse_time(&text);
        }
    }
}
