//! Free times between busy times.

use jiff::SignedDuration;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::busy_times::Interval;
use crate::time::resolve;

/// Hours of a day that are searched, in the person's time zone.
const FIRST_HOUR: i8 = 8;
const LAST_HOUR: i8 = 20;
/// Maximum number of days that are searched.
pub const MAX_DAYS: i64 = 62;

/// Returns the free times of at least this length, of each day from 8 to 20 o'clock, at most
/// `count`. `busy` is in order and without overlaps.
#[must_use]
pub fn free_times(
    busy: &[Interval],
    (from, until): Interval,
    length: SignedDuration,
    zone: &TimeZone,
    count: usize,
) -> Vec<Interval> {
    let mut free = Vec::new();
    let mut day = zone.to_datetime(from).date();
    for _ in 0..=MAX_DAYS {
        let clock = |hour| resolve(day.to_datetime(Time::constant(hour, 0, 0, 0)), zone);
        let (Some(opens), Some(closes)) = (clock(FIRST_HOUR), clock(LAST_HOUR)) else { break };
        if opens >= until {
            break;
        }
        let (mut cursor, end) = (opens.max(from), closes.min(until));
        let begin = cursor;
        let of_day = busy.iter().filter(|(start, stop)| *stop > begin && *start < end);
        // The last gap ends at the end of the day.
        for (start, stop) in of_day.copied().chain([(end, end)]) {
            if start.duration_since(cursor) >= length {
                free.push((cursor, start));
            }
            cursor = cursor.max(stop);
        }
        if free.len() >= count {
            break;
        }
        let Ok(next) = day.tomorrow() else { break };
        day = next;
    }
    free.truncate(count);
    free
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn free(busy: &[(&str, &str)], from: &str, until: &str, minutes: i64) -> Vec<String> {
        let busy: Vec<Interval> = busy.iter().map(|(a, b)| (at(a), at(b))).collect();
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let length = SignedDuration::from_mins(minutes);
        free_times(&busy, (at(from), at(until)), length, &zone, 4)
            .iter()
            .map(|(a, b)| format!("{} {}", zone.to_datetime(*a), zone.to_datetime(*b).time()))
            .collect()
    }

    #[test]
    fn gaps_of_the_day_are_found() {
        let busy = [
            ("2026-12-01T07:30Z", "2026-12-01T09:00Z"),
            ("2026-12-01T09:30Z", "2026-12-01T18:30Z"),
        ];
        assert_eq!(
            free(&busy, "2026-12-01T00:00Z", "2026-12-02T12:00Z", 30),
            [
                "2026-12-01T08:00:00 08:30:00",
                "2026-12-01T10:00:00 10:30:00",
                "2026-12-01T19:30:00 20:00:00",
                "2026-12-02T08:00:00 13:00:00",
            ]
        );
        // An hour is free only on the next day.
        assert_eq!(
            free(&busy, "2026-12-01T00:00Z", "2026-12-02T12:00Z", 60),
            ["2026-12-02T08:00:00 13:00:00"]
        );
        let whole = [("2026-12-01T00:00Z", "2026-12-03T00:00Z")];
        assert!(free(&whole, "2026-12-01T00:00Z", "2026-12-02T12:00Z", 15).is_empty());
    }

    #[test]
    fn the_search_begins_and_ends_where_it_is_told() {
        assert_eq!(
            free(&[], "2026-12-01T11:15Z", "2026-12-01T13:00Z", 15),
            ["2026-12-01T12:15:00 14:00:00"]
        );
        assert!(free(&[], "2026-12-01T20:00Z", "2026-12-02T06:00Z", 15).is_empty());
        let days = free(&[], "2026-12-01T00:00Z", "2036-12-01T00:00Z", 600);
        assert_eq!((days.len(), &*days[3]), (4, "2026-12-04T08:00:00 20:00:00"));
    }
}
