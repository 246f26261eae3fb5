//! A table of TOML read key by key, with errors that name the key and the nearest thing that would have been right.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use serde_json::Value as Json;
use toml::{Table, Value};

use super::Fault;

/// No attempt of any tool runs longer (the engine's own limit).
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Keys that are taken out one by one.
pub(super) struct Keys(Table);

impl Keys {
    /// A table that has no keys but these.
    pub(super) fn of(table: Table, known: &[&str]) -> Result<Self, Fault> {
        match table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(Self(table)),
            Some(key) => Err(Fault::new(format!("unknown key {key:?}{}", hint(key, known)))),
        }
    }

    /// The value of a key, as it is.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, Fault> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wanted(key, "a text", &other)),
        }
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, Fault> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Boolean(flag)) => Ok(Some(flag)),
            Some(other) => Err(wanted(key, "true or false", &other)),
        }
    }

    /// An array of texts.
    pub(super) fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>, Fault> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let Value::Array(items) = value else {
            return Err(wanted(key, "an array of texts", &value));
        };
        let text = |item: Value| match item {
            Value::String(text) => Ok(text),
            other => Err(wanted(key, "an array of texts", &other)),
        };
        items.into_iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// One of these words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Fault> {
        self.text(key)?.map(|text| word(key, &text, words)).transpose()
    }

    /// Seconds, or a text with its unit: `30`, `0.5`, `"500ms"`, `"30s"`, `"2m"`, `"1h"`.
    pub(super) fn duration(&mut self, key: &str) -> Result<Option<Duration>, Fault> {
        const FORM: &str = "seconds, or a text such as \"30s\", \"500ms\", \"2m\"";
        let Some(value) = self.take(key) else { return Ok(None) };
        #[expect(clippy::cast_precision_loss, reason = "larger numbers are refused below")]
        let seconds = match &value {
            Value::Integer(seconds) => Some(*seconds as f64),
            Value::Float(seconds) => Some(*seconds),
            Value::String(text) => seconds_of(text),
            _ => None,
        };
        seconds
            .filter(|seconds| *seconds > 0.0)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|time| (Duration::from_millis(1)..=LONGEST).contains(time))
            .map(Some)
            .ok_or_else(|| wanted(key, &format!("{FORM}, up to 24h"), &value))
    }
}

fn seconds_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at)?;
    let factor = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|number| number * factor)
}

/// The meaning of one of these words.
pub(super) fn word<T: Copy>(key: &str, text: &str, words: &[(&str, T)]) -> Result<T, Fault> {
    words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Fault::new(format!("key {key:?}: {text:?} is not one of {}", all.join(", ")))
    })
}

pub(super) fn wanted(key: &str, form: &str, found: &Value) -> Fault {
    Fault::new(format!("key {key:?} must be {form}, not {}", shown(found)))
}

/// A value in a few words.
fn shown(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        other => other.to_string().chars().take(60).collect(),
    }
}

/// `; did you mean "x"?`, or the list of what there is when that is short, or nothing.
pub(super) fn hint(asked: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        // A key of a hostile length is not worth comparing.
        .filter(|_| asked.len() <= 100)
        .map(|known| (strsim::damerau_levenshtein(asked, known), known))
        .filter(|(distance, known)| distance * 5 <= known.len().max(asked.len()) * 2)
        .min();
    match near {
        Some((_, known)) => format!("; did you mean {known:?}?"),
        None => format!("; there are {}", known.join(", ")),
    }
}

/// The same value as JSON. A date becomes its text.
pub(super) fn json(value: Value) -> Result<Json, Fault> {
    Ok(match value {
        Value::String(text) => Json::String(text),
        Value::Integer(number) => Json::from(number),
        Value::Float(number) => serde_json::Number::from_f64(number)
            .map(Json::Number)
            .ok_or_else(|| Fault::new(format!("{number} has no form in JSON")))?,
        Value::Boolean(flag) => Json::Bool(flag),
        Value::Datetime(date) => Json::String(date.to_string()),
        Value::Array(items) => Json::Array(items.into_iter().map(json).collect::<Result<_, _>>()?),
        Value::Table(table) => Json::Object(
            table
                .into_iter()
                .map(|(key, value)| Ok((key, json(value)?)))
                .collect::<Result<_, Fault>>()?,
        ),
    })
}
