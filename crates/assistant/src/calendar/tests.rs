//! Event files, parsed by another implementation of the format.

use icalendar::parser::{read_calendar, unfold};
use jiff::Timestamp;

use super::*;

fn now() -> Timestamp {
    "2026-11-26T12:00:00Z".parse().unwrap()
}

fn new(title: &str, start: &str) -> NewEvent {
    NewEvent {
        title: title.into(),
        start: start.into(),
        zone: Some("Europe/Berlin".into()),
        ..NewEvent::default()
    }
}

fn ics(event: NewEvent) -> String {
    let text = to_ics(&event.check(now()).unwrap(), "call_1@toolcrib", now());
    for line in text.split_terminator("\r\n") {
        assert!(line.len() <= 75 && !line.contains(['\r', '\n']), "{line:?}");
    }
    text
}

#[test]
fn a_full_event_is_read_back_by_another_reader() {
    let description = "Bring: cake, tea; \\ and more.\nÄpfel ".to_owned() + &"ü".repeat(120);
    let event = NewEvent {
        minutes: Some(90),
        recurrence: Some("FREQ=WEEKLY;BYDAY=TU;COUNT=10".into()),
        reminders: vec![60, 15, 15],
        attendees: vec!["bob@example.com".into()],
        description: Some(description.clone()),
        location: Some("Room 1, House 2".into()),
        ..new("Team; plan", "2026-12-01T09:30")
    };
    let text = ics(event);
    let unfolded = unfold(&text);
    let calendar = read_calendar(&unfolded).unwrap();
    let names: Vec<&str> = calendar.components.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["VTIMEZONE", "VEVENT"]);
    let event = &calendar.components[1];
    let value = |name: &str| event.find_prop(name).unwrap().val.as_str().to_owned();
    assert_eq!(value("SUMMARY"), "Team; plan");
    assert!(text.contains("SUMMARY:Team\\; plan\r\n"), "{text}");
    assert_eq!(value("DTSTART"), "20261201T093000");
    assert_eq!(value("DTEND"), "20261201T110000");
    assert_eq!(value("RRULE"), "FREQ=WEEKLY;BYDAY=TU;COUNT=10");
    assert_eq!(value("ATTENDEE"), "mailto:bob@example.com");
    assert_eq!(value("DESCRIPTION"), description);
    let triggers: Vec<&str> = event
        .components
        .iter()
        .map(|alarm| alarm.find_prop("TRIGGER").unwrap().val.as_str())
        .collect();
    assert_eq!(triggers, ["-PT15M", "-PT60M"]);
    // The zone has the rules for winter and summer.
    let zone = &calendar.components[0];
    let kinds: Vec<&str> = zone.components.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(kinds, ["STANDARD", "DAYLIGHT"]);
    let summer = &zone.components[1];
    assert_eq!(summer.find_prop("TZOFFSETTO").unwrap().val.as_str(), "+0200");
    assert_eq!(summer.find_prop("DTSTART").unwrap().val.as_str(), "20270328T020000");
}

#[test]
fn days_and_zones_without_changes() {
    let day = NewEvent { all_day: true, ..new("Trip", "2026-12-24") };
    let text = ics(NewEvent { end: Some("2026-12-26".into()), ..day.clone() });
    assert!(
        text.contains("DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20261227\r\n"),
        "{text}"
    );
    assert!(ics(day).contains("DTEND;VALUE=DATE:20261225\r\n"));
    let utc = NewEvent { zone: Some("UTC".into()), ..new("Call", "2026-12-01T09:30") };
    let text = ics(utc);
    assert!(text.contains("DTSTART:20261201T093000Z\r\nDTEND:20261201T103000Z\r\n"), "{text}");
    assert!(!text.contains("VTIMEZONE"));
    let tokyo = NewEvent { zone: Some("Asia/Tokyo".into()), ..new("Call", "2026-12-01T09:30") };
    let text = ics(tokyo);
    assert!(text.contains("TZOFFSETTO:+0900\r\nTZNAME:JST\r\n"), "{text}");
    // A time with an offset is converted to the zone; a time in the gap becomes the first time
    // after it.
    let offset = ics(new("Call", "2026-12-01T09:30:00-05:00"));
    assert!(offset.contains("DTSTART;TZID=Europe/Berlin:20261201T153000\r\n"), "{offset}");
    let gap = ics(new("Gap", "2027-03-28T02:30"));
    assert!(gap.contains("DTSTART;TZID=Europe/Berlin:20270328T030000\r\n"), "{gap}");
}

#[test]
fn what_cannot_be_an_event_is_said() {
    let good = || new("Lunch", "2026-12-01T12:00");
    let rule = |text: &str| NewEvent { recurrence: Some(text.into()), ..good() };
    let cases = [
        (new("Lunch", "2020-12-01T12:00"), "now it is 2026-11-26T13:00:00+01:00"),
        (new("Lunch", "2026-02-31T12:00"), "not a date and time that exists"),
        (new("Lunch", "tomorrow"), "not a date and time that exists"),
        (new(" ", "2026-12-01T12:00"), "title needs 1 to 200 characters"),
        (new("a\r\nATTENDEE:x", "2026-12-01T12:00"), "title needs 1 to 200 characters"),
        (NewEvent { zone: Some("Mars/Base".into()), ..good() }, "no time zone"),
        (NewEvent { end: Some("2026-12-01T11:00".into()), ..good() }, "after start_time"),
        (NewEvent { end: Some("2026-12-01T13:00".into()), minutes: Some(5), ..good() }, "not both"),
        (NewEvent { minutes: Some(0), ..good() }, "from 1 to 527040"),
        (NewEvent { reminders: vec![50_000], ..good() }, "four weeks"),
        (NewEvent { reminders: vec![1, 2, 3, 4, 5, 6], ..good() }, "at most 5 reminders"),
        (NewEvent { attendees: vec!["bob".into()], ..good() }, "not a mail address"),
        (NewEvent { attendees: vec!["b@x.y\r\nX:1".into()], ..good() }, "not a mail address"),
        (NewEvent { attendees: vec!["a@b.c".into(); 51], ..good() }, "at most 50 attendees"),
        (NewEvent { description: Some("x".repeat(4_001)), ..good() }, "at most 4000"),
        (rule("often"), "is not a recurrence"),
        (rule("FREQ=SECONDLY"), "is not a recurrence"),
        (rule("FREQ=DAILY;COUNT=1000000"), "is not a recurrence"),
        (rule("FREQ=DAILY;FREQ=DAILY"), "is not a recurrence"),
        (rule("FREQ=DAILY;COUNT=2;UNTIL=20270101"), "is not a recurrence"),
        (rule("FREQ=DAILY\r\nX:1"), "is not a recurrence"),
        (rule("COUNT=2"), "is not a recurrence"),
    ];
    for (event, part) in cases {
        let error = event.clone().check(now()).unwrap_err().to_string();
        assert!(error.contains(part), "{event:?}: {error}");
    }
    for text in
        ["daily", "Weekdays", "RRULE:FREQ=MONTHLY;BYDAY=-1FR", "FREQ=YEARLY;UNTIL=20301231T000000Z"]
    {
        rule(text).check(now()).unwrap();
    }
}
