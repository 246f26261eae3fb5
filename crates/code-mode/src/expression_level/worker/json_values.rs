//! Converts values between the script and the tools: JSON values pass, all others raise an error.
#![deny(clippy::indexing_slicing)]

use monty_types::MontyObject;
use serde_json::{Map, Number, Value};

use crate::worker_protocol::Reply;

/// Type name of a tool's result.
pub(super) const RESULT: &str = "ToolResult";

/// Nesting limit; deeper values are a mistake or an attack.
const DEPTH: usize = 64;

/// Converts a value to an argument.
///
/// # Errors
/// A message for the script.
pub(super) fn argument(value: &MontyObject) -> Result<Value, String> {
    to_json(value, DEPTH)
}

fn to_json(value: &MontyObject, depth: usize) -> Result<Value, String> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err("is nested too deeply for a tool".to_owned());
    };
    let all = |items: &[MontyObject]| -> Result<Value, String> {
        items.iter().map(|item| to_json(item, depth)).collect::<Result<_, _>>().map(Value::Array)
    };
    Ok(match value {
        MontyObject::None => Value::Null,
        MontyObject::Bool(is) => Value::Bool(*is),
        MontyObject::Int(number) => Value::from(*number),
        MontyObject::Float(number) => {
            let number = Number::from_f64(*number);
            Value::Number(number.ok_or("is a number that JSON does not have")?)
        }
        MontyObject::BigInt(_) => {
            let text = value.to_string();
            let number: Option<u64> = text.parse().ok();
            Value::from(number.ok_or("is a number that is too large for a tool; pass it as text")?)
        }
        MontyObject::String(text) | MontyObject::Path(text) => Value::String(text.clone()),
        MontyObject::List(items)
        | MontyObject::Tuple(items)
        | MontyObject::Set(items)
        | MontyObject::FrozenSet(items) => all(items)?,
        MontyObject::NamedTuple { type_name, values, .. } if type_name == RESULT => {
            of_result(values)
        }
        MontyObject::NamedTuple { field_names, values, .. } => {
            let mut map = Map::new();
            for (name, value) in field_names.iter().zip(values) {
                map.insert(name.clone(), to_json(value, depth)?);
            }
            Value::Object(map)
        }
        MontyObject::Dict(pairs) => {
            let mut map = Map::new();
            for (key, value) in pairs {
                map.insert(key_of(key)?, to_json(value, depth)?);
            }
            Value::Object(map)
        }
        MontyObject::Date(_) | MontyObject::DateTime(_) | MontyObject::Time(_) => {
            Value::String(value.to_string())
        }
        MontyObject::Cycle(..) => return Err("contains itself".to_owned()),
        other => {
            return Err(format!("is of the type {}, which no tool takes", other.type_name()));
        }
    })
}

fn key_of(key: &MontyObject) -> Result<String, String> {
    match key {
        MontyObject::String(text) => Ok(text.clone()),
        MontyObject::Int(_) => Ok(key.to_string()),
        other => Err(format!("has a key of the type {}; use texts", other.type_name())),
    }
}

/// Converts the result of one tool to an argument of another: by reference if it is long, so that
/// its text is not loaded here; otherwise its text.
fn of_result(values: &[MontyObject]) -> Value {
    match values {
        [_, _, MontyObject::String(reference), ..] => {
            let mut map = Map::new();
            map.insert("$artifact".to_owned(), Value::String(reference.clone()));
            Value::Object(map)
        }
        [MontyObject::String(text), ..] => Value::String(text.clone()),
        _ => Value::Null,
    }
}

/// Converts JSON to a value.
pub(super) fn value(data: Value) -> MontyObject {
    match data {
        Value::Null => MontyObject::None,
        Value::Bool(is) => MontyObject::Bool(is),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => MontyObject::Int(whole),
            (None, Some(real)) => MontyObject::Float(real),
            (None, None) => MontyObject::String(number.to_string()),
        },
        Value::String(text) => MontyObject::String(text),
        Value::Array(items) => MontyObject::List(items.into_iter().map(value).collect()),
        Value::Object(map) => {
            let pairs: Vec<(MontyObject, MontyObject)> = map
                .into_iter()
                .map(|(key, data)| (MontyObject::String(key), value(data)))
                .collect();
            MontyObject::dict(pairs)
        }
    }
}

/// Converts a reply to a value; `None` if it is an exception.
pub(super) fn result(reply: Reply) -> Option<MontyObject> {
    let text = |text: Option<String>| text.map_or(MontyObject::None, MontyObject::String);
    match reply {
        Reply::Value { value: data } => Some(value(data)),
        Reply::Result { text: words, data, reference, media } => Some(MontyObject::NamedTuple {
            type_name: RESULT.to_owned(),
            field_names: ["text", "structured", "ref", "media"].map(str::to_owned).to_vec(),
            values: vec![
                MontyObject::String(words),
                data.map_or(MontyObject::None, value),
                text(reference),
                MontyObject::List(media.into_iter().map(MontyObject::String).collect()),
            ],
        }),
        Reply::Raise { .. } | Reply::End { .. } => None,
    }
}
