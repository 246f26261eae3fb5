//! Filters: one JSON object of input and one of output per line, flushed, in order.

use std::io::{self, BufRead as _, Write as _};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::output::Failure;

/// Maximum length of a line; a longer one is answered with an error and skipped.
const LINE_BYTES: usize = 64 * 1024 * 1024;

/// Answers every line of standard input. A line that cannot be parsed or answered gets an error as
/// its answer; the filter continues, and ends with the exit code of a usage error.
pub(crate) fn run_filter<T: DeserializeOwned>(
    answer: impl FnMut(T) -> Result<Map<String, Value>, String>,
) -> Result<u8, Failure> {
    run_filter_with(Map::new(), answer)
}

/// Like [`run_filter`]; errors of lines that cannot be parsed also have these members.
pub(crate) fn run_filter_with<T: DeserializeOwned>(
    unreadable: Map<String, Value>,
    mut answer: impl FnMut(T) -> Result<Map<String, Value>, String>,
) -> Result<u8, Failure> {
    let mut input = io::stdin().lock();
    let mut out = io::stdout().lock();
    let mut code = 0;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let whole = read_line(&mut input, &mut line)?;
        if line.is_empty() {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (id, request) = if whole {
            read::<T>(&line)
        } else {
            (Value::Null, Err("longer than 64 MiB".to_owned()))
        };
        let reply = match request {
            Ok(request) => answer(request).map_err(|error| error_reply(number, &error)),
            Err(error) => {
                Err(error_reply(number, &error).into_iter().chain(unreadable.clone()).collect())
            }
        };
        let reply = reply.unwrap_or_else(|error| {
            code = 2;
            error
        });
        let mut text = serde_json::to_vec(&with_id(id, reply)).map_err(io::Error::other)?;
        text.push(b'\n');
        out.write_all(&text)?;
        out.flush()?;
    }
    Ok(code)
}

/// Reads up to and including the line break; returns `false` if the line was too long, and then
/// `line` has only its start.
fn read_line(input: &mut impl io::BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let read = io::Read::take(&mut *input, LINE_BYTES as u64).read_until(b'\n', line)?;
    if read < LINE_BYTES || line.ends_with(b"\n") {
        return Ok(true);
    }
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|&b| b == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        if used == 0 {
            return Ok(false);
        }
        input.consume(used);
        if end.is_some() {
            return Ok(false);
        }
    }
}

fn read<T: DeserializeOwned>(line: &[u8]) -> (Value, Result<T, String>) {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return (Value::Null, Err(not_json(&error))),
    };
    if !value.is_object() {
        return (Value::Null, Err("not a JSON object".to_owned()));
    }
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    (id, serde_json::from_value(value).map_err(|error| error.to_string()))
}

/// Rewords the error: the parser counts lines from the start of this one, which is useless to a
/// caller that sent many.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("not JSON: {what} at column {}", error.column())
}

fn with_id(id: Value, reply: Map<String, Value>) -> Map<String, Value> {
    std::iter::once(("id".to_owned(), id)).chain(reply).collect()
}

fn error_reply(number: usize, error: &str) -> Map<String, Value> {
    let mut reply = Map::new();
    reply.insert("error".to_owned(), json!(format!("line {number}: {error}")));
    reply
}

/// Converts an object to the map of an output line.
pub(crate) fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}
