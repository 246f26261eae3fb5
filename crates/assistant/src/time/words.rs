//! Describes schedules for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::daily_hours::clock;
use super::schedule::Schedule;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// Describes a schedule: "Daily at 9:00", "Every Mon, Tue, Wed at 14:00", "Monthly on day 15 at
/// 8:00", the expression itself, or the time.
#[must_use]
pub fn describe(schedule: &Schedule, zone: &TimeZone) -> String {
    match schedule {
        Schedule::Once(time) => {
            let local = time.instant.to_zoned(zone.clone());
            format!("Once on {}", local.strftime("%a, %B %-d, %Y at %-H:%M"))
        }
        Schedule::Cron(cron) => {
            cron_in_words(cron.as_str()).unwrap_or_else(|| cron.as_str().to_owned())
        }
        Schedule::Recurrence(recurrence) => {
            let first = recurrence.first.civil;
            let from = first.strftime("%a, %B %-d, %Y at %-H:%M");
            let within = recurrence.within.map_or_else(String::new, |hours| {
                format!(", between {} and {}", clock(hours.start), clock(hours.end))
            });
            format!("{} from {from}{within}", recurrence.word)
        }
        Schedule::Window(window) => {
            format!("Every {} min from {}:00 to {}:00", window.minutes, window.start, window.end)
        }
        Schedule::Event(event) => event.clone(),
    }
}

fn cron_in_words(cron: &str) -> Option<String> {
    let fields: Vec<&str> = cron.split(' ').collect();
    let [minute, hour, day, month, weekday] = fields.as_slice() else { return None };
    let number = |text: &str| text.parse::<u8>().ok();
    let at = format!("{}:{:02}", number(hour)?, number(minute)?);
    match (*day, *month, *weekday) {
        ("*", "*", "*") => Some(format!("Daily at {at}")),
        ("*", "*", days) => Some(format!("Every {} at {at}", weekdays(days)?.join(", "))),
        (day, "*", "*") => Some(format!("Monthly on day {} at {at}", number(day)?)),
        _ => None,
    }
}

/// Parses the days of a list of days and ranges.
fn weekdays(list: &str) -> Option<Vec<&'static str>> {
    let day = |text: &str| {
        let by_name = || DAYS.iter().position(|day| day.eq_ignore_ascii_case(text));
        text.parse::<usize>().ok().or_else(by_name)
    };
    let mut days = Vec::new();
    for part in list.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (day(first)?, day(last)?),
            None => (day(part)?, day(part)?),
        };
        for number in first..=last {
            days.push(*DAYS.get(number % 7)?);
        }
    }
    Some(days)
}

/// Renders the next times: "Mon, November 30, 2026 at 9:00 +01:00".
#[must_use]
pub fn describe_next(times: &[Timestamp], zone: &TimeZone) -> Vec<String> {
    let words = |time: &Timestamp| {
        time.to_zoned(zone.clone()).strftime("%a, %B %-d, %Y at %-H:%M %:z").to_string()
    };
    times.iter().map(words).collect()
}
