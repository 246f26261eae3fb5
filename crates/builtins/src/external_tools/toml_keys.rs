//! Reads a TOML table key by key, with errors that name the key and suggest the nearest valid one.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use serde_json::Value as Json;
use toml::{Table, Value};

use super::DefinitionError;

/// The engine's own limit: no attempt of any tool runs longer.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A table whose keys are taken out one by one.
pub(super) struct TomlKeys(Table);

impl TomlKeys {
    /// Accepts a table with these keys only.
    pub(super) fn new(table: Table, known: &[&str]) -> Result<Self, DefinitionError> {
        match table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(Self(table)),
            Some(key) => {
                Err(DefinitionError::new(format!("unknown key {key:?}{}", hint(key, known))))
            }
        }
    }

    /// Takes the raw value of a key.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, DefinitionError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(type_error(key, "a text", &other)),
        }
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, DefinitionError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Boolean(flag)) => Ok(Some(flag)),
            Some(other) => Err(type_error(key, "true or false", &other)),
        }
    }

    /// Takes an array of strings.
    pub(super) fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>, DefinitionError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let Value::Array(items) = value else {
            return Err(type_error(key, "an array of texts", &value));
        };
        let text = |item: Value| match item {
            Value::String(text) => Ok(text),
            other => Err(type_error(key, "an array of texts", &other)),
        };
        items.into_iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// Takes one of these words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, DefinitionError> {
        self.text(key)?.map(|text| choice(key, &text, words)).transpose()
    }

    /// Takes seconds, or a string with a unit: `30`, `0.5`, `"500ms"`, `"30s"`, `"2m"`, `"1h"`.
    pub(super) fn duration(&mut self, key: &str) -> Result<Option<Duration>, DefinitionError> {
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
            .ok_or_else(|| type_error(key, &format!("{FORM}, up to 24h"), &value))
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

/// Looks up the meaning of one of these words.
pub(super) fn choice<T: Copy>(
    key: &str,
    text: &str,
    words: &[(&str, T)],
) -> Result<T, DefinitionError> {
    words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        DefinitionError::new(format!("key {key:?}: {text:?} is not one of {}", all.join(", ")))
    })
}

pub(super) fn type_error(key: &str, form: &str, found: &Value) -> DefinitionError {
    DefinitionError::new(format!("key {key:?} must be {form}, not {}", shown(found)))
}

/// Abbreviates a value for an error message.
fn shown(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        other => other.to_string().chars().take(60).collect(),
    }
}

/// Returns `; did you mean "x"?`, the list of valid values if it is short, or nothing.
pub(super) fn hint(asked: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        // Edit distance is quadratic, so very long keys are not compared.
        .filter(|_| asked.len() <= 100)
        .map(|known| (strsim::damerau_levenshtein(asked, known), known))
        .filter(|(distance, known)| distance * 5 <= known.len().max(asked.len()) * 2)
        .min();
    match near {
        Some((_, known)) => format!("; did you mean {known:?}?"),
        None => format!("; there are {}", known.join(", ")),
    }
}

/// Converts the value to JSON; a date becomes a string.
pub(super) fn json(value: Value) -> Result<Json, DefinitionError> {
    Ok(match value {
        Value::String(text) => Json::String(text),
        Value::Integer(number) => Json::from(number),
        Value::Float(number) => serde_json::Number::from_f64(number)
            .map(Json::Number)
            .ok_or_else(|| DefinitionError::new(format!("{number} has no form in JSON")))?,
        Value::Boolean(flag) => Json::Bool(flag),
        Value::Datetime(date) => Json::String(date.to_string()),
        Value::Array(items) => Json::Array(items.into_iter().map(json).collect::<Result<_, _>>()?),
        Value::Table(table) => Json::Object(
            table
                .into_iter()
                .map(|(key, value)| Ok((key, json(value)?)))
                .collect::<Result<_, DefinitionError>>()?,
        ),
    })
}
