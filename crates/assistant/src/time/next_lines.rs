//! Computes the next times of schedules, line by line, without storing anything.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::cron::Cron;
use super::daily_hours::parse_daily_hours;
use super::error::TimeError;
use super::instant::{format_instant, parse_local_time, parse_zone};
use super::recurrence::Recurrence;
use super::schedule::Schedule;

/// Default number of times per line.
const DEFAULT_COUNT: usize = 3;
const MAX_COUNT: usize = 1_000;

/// A valid line.
const EXAMPLE: &str = r#"{"id": 1, "cron": "0 9 * * MON-FRI", "zone": "Europe/Berlin"}"#;

/// One line: exactly one of `cron` and `execute_at`, or `recurrence` with `execute_at` as its first
/// time.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    cron: Option<String>,
    execute_at: Option<String>,
    recurrence: Option<String>,
    window_start: Option<String>,
    window_end: Option<String>,
    zone: Option<String>,
    after: Option<String>,
    count: Option<usize>,
}

/// Answers one line of JSON with `{id, next: […]}`, times in RFC 3339 with offset, or with
/// `{id, error}`. `now` is used if the line has no `after`.
#[must_use]
pub fn next_line(text: &str, now: Timestamp) -> Value {
    let line: Line = match serde_json::from_str(text) {
        Ok(line) => line,
        Err(error) => {
            let id =
                serde_json::from_str::<Value>(text).ok().and_then(|line| line.get("id").cloned());
            let why = if text.trim_start().starts_with('{') {
                error.to_string()
            } else {
                "it is not a JSON object".to_owned()
            };
            let error = format!(
                "The line cannot be read: {why}. Write one JSON object on each line, such as {EXAMPLE}."
            );
            return json!({ "id": id, "error": error });
        }
    };
    let id = line.id.clone();
    match next(&line, now) {
        Ok(times) => json!({ "id": id, "next": times }),
        Err(error) => json!({ "id": id, "error": error.to_string() }),
    }
}

fn next(line: &Line, now: Timestamp) -> Result<Vec<String>, TimeError> {
    let zone = parse_zone(line.zone.as_deref())?;
    let count = line.count.unwrap_or(DEFAULT_COUNT);
    if !(1..=MAX_COUNT).contains(&count) {
        return Err(TimeError::When(format!("count must be from 1 to {MAX_COUNT}.")));
    }
    let after = match given(line.after.as_deref()) {
        Some(text) => parse_local_time(text, &zone)?.instant,
        None => now,
    };
    let (cron, at) = (given(line.cron.as_deref()), given(line.execute_at.as_deref()));
    let schedule = match (cron, at, given(line.recurrence.as_deref())) {
        (Some(cron), None, None) => Schedule::Cron(Box::new(Cron::parse(cron)?)),
        (None, Some(at), None) => Schedule::Once(parse_local_time(at, &zone)?),
        (None, Some(at), Some(word)) => Schedule::Recurrence(Recurrence {
            word: word.parse()?,
            first: parse_local_time(at, &zone)?,
            within: parse_daily_hours(
                given(line.window_start.as_deref()),
                given(line.window_end.as_deref()),
            )?,
        }),
        _ => {
            return Err(TimeError::When(
                "Give exactly one of cron and execute_at, or recurrence with execute_at as its first time."
                    .to_owned(),
            ));
        }
    };
    let times = schedule.next(after, &zone, count);
    Ok(times.into_iter().map(|time| format_instant(time, &zone)).collect())
}

/// Returns a parameter with a value: blank text counts as absent.
fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}
