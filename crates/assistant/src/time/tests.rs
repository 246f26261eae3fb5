//! Tables of schedules with their instants, mainly around clock changes.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn now() -> Timestamp {
    "2026-11-26T12:00:00Z".parse().unwrap()
}

fn answer(line: Value) -> Value {
    next_line(&line.to_string(), now())
}

fn check(line: Value, expected: &[&str]) {
    assert_eq!(answer(line.clone())["next"], json!(expected), "{line}: {}", answer(line.clone()));
}

#[test]
fn cron_expressions() {
    let cron = |cron: &str, after: &str, count: usize| json!({"id": 1, "cron": cron, "zone": "UTC", "after": after, "count": count});
    check(
        cron("0 9 * * *", "2026-01-01T09:00:00Z", 2),
        &["2026-01-02T09:00:00+00:00", "2026-01-03T09:00:00+00:00"],
    );
    check(
        cron("*/20 8-9 * * *", "2026-01-01T08:30", 3),
        &["2026-01-01T08:40:00+00:00", "2026-01-01T09:00:00+00:00", "2026-01-01T09:20:00+00:00"],
    );
    check(
        cron("30 6 * * mon-wed,FRI", "2026-11-26T00:00:00Z", 2),
        &["2026-11-27T06:30:00+00:00", "2026-11-30T06:30:00+00:00"],
    );
    check(cron("0 0 1 JAN *", "2026-11-26T00:00:00Z", 1), &["2027-01-01T00:00:00+00:00"]);
    // Sunday is 0 and 7.
    check(cron("0 0 * * 7", "2026-11-26T00:00:00Z", 1), &["2026-11-29T00:00:00+00:00"]);
    // Day of month and day of week must both match: a Friday the 13th.
    check(
        cron("0 0 13 * 5", "2026-11-26T00:00:00Z", 2),
        &["2027-08-13T00:00:00+00:00", "2028-10-13T00:00:00+00:00"],
    );
    check(
        cron("0 0 29 2 *", "2026-11-26T00:00:00Z", 2),
        &["2028-02-29T00:00:00+00:00", "2032-02-29T00:00:00+00:00"],
    );
    check(
        cron("0 0 31 * *", "2026-01-31T00:00:00Z", 2),
        &["2026-03-31T00:00:00+00:00", "2026-05-31T00:00:00+00:00"],
    );
}

#[test]
fn a_fixed_time_in_a_gap_runs_at_the_first_instant_after_it() {
    // Berlin skips 02:00 to 03:00 on March 29.
    let line = |cron: &str| json!({"cron": cron, "zone": "Europe/Berlin", "after": "2026-03-28T12:00", "count": 3});
    check(
        line("30 2 * * *"),
        &["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00", "2026-03-31T02:30:00+02:00"],
    );
    // All of its times in the gap become that single instant.
    check(
        line("*/15 2 * * *"),
        &["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00", "2026-03-30T02:15:00+02:00"],
    );
    check(
        json!({"execute_at": "2026-03-29T02:30", "zone": "Europe/Berlin", "after": "2026-03-01T00:00"}),
        &["2026-03-29T03:00:00+02:00"],
    );
    // Lord Howe Island changes by half an hour.
    check(
        json!({"cron": "15 2 * * *", "zone": "Australia/Lord_Howe", "after": "2026-10-03T12:00", "count": 2}),
        &["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"],
    );
    // Samoa skipped December 30, 2011.
    check(
        json!({"cron": "0 9 * * *", "zone": "Pacific/Apia", "after": "2011-12-29T08:00", "count": 3}),
        &["2011-12-29T09:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"],
    );
}

#[test]
fn a_fixed_time_in_an_overlap_runs_once_in_the_first_pass() {
    let line = |cron: &str, after: &str| json!({"cron": cron, "zone": "Europe/Berlin", "after": after, "count": 2});
    check(
        line("30 2 * * *", "2026-10-24T12:00"),
        &["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
    );
    // Between the two passes, and in the second one, the time has passed.
    check(
        line("30 2 * * *", "2026-10-25T02:45:00+02:00"),
        &["2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"],
    );
    check(
        line("30 2 * * *", "2026-10-25T02:10:00+01:00"),
        &["2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"],
    );
    check(
        json!({"execute_at": "2026-10-25T02:30", "zone": "Europe/Berlin", "after": "2026-10-01T00:00"}),
        &["2026-10-25T02:30:00+02:00"],
    );
}

#[test]
fn a_cron_of_every_hour_follows_real_time() {
    let line = |cron: &str, after: &str, count: usize| json!({"cron": cron, "zone": "Europe/Berlin", "after": after, "count": count});
    check(
        line("30 * * * *", "2026-03-29T01:00", 2),
        &["2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"],
    );
    check(
        line("0 */2 * * *", "2026-03-29T00:30", 2),
        &["2026-03-29T04:00:00+02:00", "2026-03-29T06:00:00+02:00"],
    );
    check(
        line("*/30 * * * *", "2026-10-25T01:45", 5),
        &[
            "2026-10-25T02:00:00+02:00",
            "2026-10-25T02:30:00+02:00",
            "2026-10-25T02:00:00+01:00",
            "2026-10-25T02:30:00+01:00",
            "2026-10-25T03:00:00+01:00",
        ],
    );
    check(
        line("0 0-23/1 * * *", "2026-10-25T01:45", 3),
        &["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"],
    );
}

#[test]
fn recurrences() {
    let line = |word: &str, first: &str, after: &str, count: usize| json!({"recurrence": word, "execute_at": first, "zone": "Europe/Berlin", "after": after, "count": count});
    check(
        line("daily", "2026-03-28T02:30", "2026-03-01T00:00", 3),
        &["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
    );
    // If the clock skips the first time, the other days keep the original local time.
    check(
        line("daily", "2026-03-29T02:30", "2026-03-01T00:00", 2),
        &["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
    );
    check(
        line("weekly", "2026-10-18T02:30", "2026-10-18T12:00", 2),
        &["2026-10-25T02:30:00+02:00", "2026-11-01T02:30:00+01:00"],
    );
    check(
        line("monthly", "2026-01-31T09:00", "2026-01-01T00:00", 4),
        &[
            "2026-01-31T09:00:00+01:00",
            "2026-02-28T09:00:00+01:00",
            "2026-03-31T09:00:00+02:00",
            "2026-04-30T09:00:00+02:00",
        ],
    );
    check(
        line("weekdays", "2026-11-26T09:00", "2026-11-26T08:00", 3),
        &["2026-11-26T09:00:00+01:00", "2026-11-27T09:00:00+01:00", "2026-11-30T09:00:00+01:00"],
    );
    check(
        line("weekdays", "2026-11-28T09:00", "2026-11-26T08:00", 1),
        &["2026-11-30T09:00:00+01:00"],
    );
    check(
        line("hourly", "2026-03-29T00:30", "2026-03-29T00:45", 2),
        &["2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"],
    );
    check(
        line("hourly", "2026-10-25T01:30", "2026-10-25T02:00:00+02:00", 2),
        &["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"],
    );
    check(
        line("interval:90", "2026-01-01T00:00", "2026-01-01T00:00", 2),
        &["2026-01-01T01:30:00+01:00", "2026-01-01T03:00:00+01:00"],
    );
    check(line("daily", "2030-01-01T09:00", "2026-01-01T00:00", 1), &["2030-01-01T09:00:00+01:00"]);
}

#[test]
fn lines_that_cannot_be_answered_say_why() {
    for (line, part) in [
        (json!({"id": "a"}), "exactly one of cron and execute_at"),
        (json!({"id": "a", "cron": "* * * * *", "execute_at": "2026-01-01T00:00"}), "exactly one"),
        (json!({"id": "a", "recurrence": "daily"}), "execute_at as its first time"),
        (json!({"id": "a", "cron": "0 9 31 2 *"}), "never matches"),
        (json!({"id": "a", "cron": "0 9 * *"}), "it has 4 fields"),
        (json!({"id": "a", "cron": "0 0 9 * * *"}), "it has 6 fields"),
        (json!({"id": "a", "cron": "60 9 * * *"}), "out of its range"),
        (json!({"id": "a", "cron": "0 9 L * *"}), "the day of month \"L\""),
        (json!({"id": "a", "cron": "0 9 * * MON#1"}), "the day of week"),
        (json!({"id": "a", "cron": "*/0 * * * *"}), "the minute"),
        (json!({"id": "a", "cron": "@daily"}), "it has 1 fields"),
        (json!({"id": "a", "execute_at": "2026-02-31T09:00"}), "not a date and time that exists"),
        (json!({"id": "a", "execute_at": "tomorrow"}), "not a date and time that exists"),
        (
            json!({"id": "a", "execute_at": "2026-01-01T09:00", "recurrence": "interval:0"}),
            "not a recurrence",
        ),
        (
            json!({"id": "a", "execute_at": "2026-01-01T09:00", "recurrence": "interval:1441"}),
            "1440",
        ),
        (
            json!({"id": "a", "cron": "* * * * *", "zone": "Mars/Base"}),
            "no time zone \"Mars/Base\"",
        ),
        (json!({"id": "a", "cron": "* * * * *", "count": 0}), "count must be"),
        (json!({"id": "a", "cron": 5}), "cannot be read"),
    ] {
        let answer = answer(line.clone());
        assert_eq!(answer["id"], "a", "{line}");
        assert!(answer["error"].as_str().unwrap_or_default().contains(part), "{line}: {answer}");
    }
    assert_eq!(next_line("{", now())["id"], Value::Null);
    // A time that has passed is not an error here, because no task is created.
    check(json!({"execute_at": "2020-01-01T00:00Z"}), &[]);
}

#[test]
fn schedules_in_words() {
    for (cron, words) in [
        ("0 9 * * *", "Daily at 9:00"),
        ("0 14 * * MON-WED", "Every Mon, Tue, Wed at 14:00"),
        ("5 7 * * 6,7", "Every Sat, Sun at 7:05"),
        ("0 8 15 * *", "Monthly on day 15 at 8:00"),
        ("*/5 * * * *", "*/5 * * * *"),
    ] {
        let schedule = Schedule::Cron(Box::new(Cron::parse(cron).unwrap()));
        assert_eq!(describe(&schedule, &TimeZone::UTC), words);
    }
}

#[test]
fn missed_times_are_counted() {
    let schedule = Schedule::Cron(Box::new(Cron::parse("0 * * * *").unwrap()));
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let due = at("2026-01-01T01:00:00Z");
    let slots = |now: &str| slots_until(&schedule, &TimeZone::UTC, due, at(now));
    assert_eq!(
        slots("2026-01-01T01:00:05Z"),
        Slots { missed: 0, next: Some(at("2026-01-01T02:00:00Z")) }
    );
    assert_eq!(
        slots("2026-01-01T05:30:00Z"),
        Slots { missed: 4, next: Some(at("2026-01-01T06:00:00Z")) }
    );
}

/// Returns every minute whose local time matches, by brute force.
fn minutes_that_fit(
    cron: &Cron,
    fits: impl Fn(DateTime) -> bool,
    zone: &TimeZone,
    from: Timestamp,
    hours: i64,
) -> Vec<Timestamp> {
    let _ = cron;
    (1..hours * 60)
        .map(|minute| from + Span::new().minutes(minute))
        .filter(|instant| fits(zone.to_datetime(*instant)))
        .collect()
}

proptest! {
    /// Around a clock change, a cron expression in elapsed time fires at exactly the minutes whose
    /// local time matches.
    #[test]
    fn real_time_is_every_minute_that_matches(
        zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu"]),
        day in 0i64..365,
        minute in 0i8..60,
        step in 1i8..7,
    ) {
        let zone = TimeZone::get(zone).unwrap();
        let from = "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + Span::new().hours(day * 24);
        let cron = Cron::parse(&format!("{minute} */{step} * * *")).unwrap();
        let fits = |local: DateTime| local.minute() == minute && local.hour() % step == 0;
        let expected = minutes_that_fit(&cron, fits, &zone, from, 60);
        let found = Schedule::Cron(Box::new(cron)).next(from, &zone, expected.len());
        prop_assert_eq!(found, expected);
    }

    /// A fixed time fires once on every calendar day, never backwards.
    #[test]
    fn a_fixed_time_fires_once_a_day(
        zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"]),
        minute in 0u8..60,
        hour in 0u8..24,
    ) {
        let zone = TimeZone::get(zone).unwrap();
        let from = "2026-01-01T12:00:00Z".parse::<Timestamp>().unwrap();
        let cron = Schedule::Cron(Box::new(Cron::parse(&format!("{minute} {hour} * * *")).unwrap()));
        let times = cron.next(from, &zone, 364);
        prop_assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        let days: Vec<_> = times.iter().map(|time| zone.to_datetime(*time).date()).collect();
        prop_assert!(days.windows(2).all(|pair| pair[0].tomorrow().unwrap() == pair[1]), "{days:?}");
    }

    /// Every line gets an answer.
    #[test]
    fn any_line_is_answered(text in ".{0,80}", cron in "[0-9*/,A-Z -]{0,30}") {
        let _ = next_line(&text, now());
        let answer = next_line(&json!({"id": 1, "cron": cron, "zone": "UTC"}).to_string(), now());
        prop_assert!(answer["next"].is_array() || answer["error"].is_string());
    }
}
