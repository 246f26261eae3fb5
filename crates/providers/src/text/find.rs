//! The calls in a text.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::scan::{Block, Mark, OPEN, blocks};
use crate::raw;

/// A call found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) name: String,
    /// The text of its arguments.
    pub(crate) args: String,
    /// Whether the text ends, or breaks, inside the call.
    pub(crate) cut: bool,
}

/// Members under which arguments are written.
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "params", "args", "input"];
/// Members that name the tool.
const NAMES: [&str; 4] = ["tool", "name", "tool_name", "function"];
/// Members that a call may have besides.
const OTHERS: [&str; 4] = ["action", "id", "type", "call_id"];

/// Every call of a text in the text format.
pub(crate) fn calls_in(text: &str) -> Vec<Found> {
    let blocks = blocks(text);
    let marked: Vec<Found> = blocks
        .iter()
        .filter(|b| matches!(b.mark, Mark::Tag | Mark::CallFence))
        .flat_map(marked_calls)
        .collect();
    if !marked.is_empty() {
        return marked;
    }
    if blocks.is_empty() {
        return bare_calls(text).unwrap_or_default();
    }
    let only_fences = blocks.iter().all(|block| block.mark == Mark::JsonFence)
        && outside(text, &blocks).trim().is_empty();
    if !only_fences {
        return Vec::new();
    }
    let all: Option<Vec<_>> = blocks.iter().map(|block| bare_calls(block.body)).collect();
    all.unwrap_or_default().concat()
}

/// The calls in `<tool_call>` tags alone: servers of function-calling models leave these in the content.
pub(crate) fn tagged_calls(text: &str) -> Vec<Found> {
    if !text.contains(OPEN) {
        return Vec::new();
    }
    blocks(text).iter().filter(|b| b.mark == Mark::Tag).flat_map(marked_calls).collect()
}

/// The text around the calls.
pub(crate) fn without_calls(text: &str) -> String {
    let blocks: Vec<Block<'_>> = blocks(text)
        .into_iter()
        .filter(|b| matches!(b.mark, Mark::Tag | Mark::CallFence))
        .collect();
    if blocks.is_empty() { String::new() } else { outside(text, &blocks).trim().to_owned() }
}

/// Whether something in the text looks like a call.
pub(super) fn mentions_call(text: &str) -> bool {
    text.contains(OPEN)
        || blocks(text).iter().any(|block| bare_calls(block.body).is_some_and(|c| !c.is_empty()))
}

fn outside(text: &str, blocks: &[Block<'_>]) -> String {
    let mut left = String::new();
    let mut at = 0;
    for block in blocks {
        left.push_str(text.get(at..block.start).unwrap_or_default());
        at = block.end;
    }
    left.push_str(text.get(at..).unwrap_or_default());
    left
}

/// The calls of a marked block; a block that cannot be read is one cut call, if it names a tool.
fn marked_calls(block: &Block<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut rest = block.body.trim();
    while !rest.is_empty() {
        let read = raw::split_value(rest).and_then(|(value, after)| {
            value_calls(value, false).map(|calls| (calls, after.trim_start()))
        });
        let Some((calls, after)) = read else {
            found.extend(name_in_pieces(rest).map(|name| Found {
                name,
                args: rest.to_owned(),
                cut: true,
            }));
            break;
        };
        found.extend(calls);
        // Without the closing mark only complete JSON counts, and after it nothing but blanks.
        rest = if block.closed { after.trim_start_matches(',').trim_start() } else { after };
    }
    found
}

/// The calls of a text that is nothing but calls; `None` when it is anything else.
fn bare_calls(text: &str) -> Option<Vec<Found>> {
    let mut rest = text.trim();
    if !rest.starts_with(['{', '[']) {
        return None;
    }
    let mut found = Vec::new();
    while !rest.is_empty() {
        let Some((value, after)) = raw::split_value(rest) else {
            let name = name_in_pieces(rest).filter(|_| rest.contains("\"tool\""))?;
            found.push(Found { name, args: rest.to_owned(), cut: true });
            break;
        };
        found.extend(value_calls(value, true)?);
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    Some(found)
}

/// The calls of one JSON value: an object, a list of them, or `{"actions":[…]}`.
fn value_calls(text: &str, strictly: bool) -> Option<Vec<Found>> {
    let value: Value = serde_json::from_str(text).ok()?;
    if value.is_array() {
        return raw::elements(text)?.into_iter().map(|item| call_of(item, strictly)).collect();
    }
    match raw::member(text, "actions") {
        Some(actions) if value.get("actions").is_some_and(Value::is_array) => {
            raw::elements(actions)?.into_iter().map(|item| call_of(item, strictly)).collect()
        }
        _ => call_of(text, strictly).map(|call| vec![call]),
    }
}

fn call_of(text: &str, strictly: bool) -> Option<Found> {
    let value: Value = serde_json::from_str(text).ok()?;
    let object = value.as_object()?;
    if let Some(Value::Object(_)) = object.get("function") {
        return call_of(raw::member(text, "function")?, strictly);
    }
    let name_key = NAMES.into_iter().find(|key| object.get(*key).is_some_and(Value::is_string))?;
    let args_key = ARGUMENTS.into_iter().find(|key| object.contains_key(*key));
    if strictly {
        let known = |key: &String| {
            [&NAMES[..], &ARGUMENTS[..], &OTHERS[..]]
                .iter()
                .any(|keys| keys.contains(&key.as_str()))
        };
        let is_call = name_key == "tool" || args_key.is_some();
        if !is_call || !object.keys().all(known) {
            return None;
        }
    }
    let name = object.get(name_key)?.as_str()?.to_owned();
    let args = match args_key.and_then(|key| Some((object.get(key)?, raw::member(text, key)?))) {
        None | Some((Value::Null, _)) => "{}".to_owned(),
        Some((Value::String(inner), _)) => inner.clone(),
        Some((_, raw)) => raw.to_owned(),
    };
    Some(with_action(name, args, object.get("action")))
}

/// `{"tool","action","params"}` (seed 002): the action is one of the arguments, unless they say something else.
fn with_action(name: String, args: String, action: Option<&Value>) -> Found {
    let Some(action @ Value::String(_)) = action else { return Found { name, args, cut: false } };
    let given: Value = serde_json::from_str(&args).unwrap_or(Value::Null);
    let Some(object) = given.as_object() else { return Found { name, args, cut: true } };
    match object.get("action") {
        Some(inner) => Found { name, cut: inner != action, args },
        None => {
            let inner = args.trim().strip_prefix('{').unwrap_or_default();
            let comma = if object.is_empty() { "" } else { "," };
            Found { name, args: format!("{{\"action\":{action}{comma}{inner}"), cut: false }
        }
    }
}

/// The tool's name in a call that cannot be read as a whole.
fn name_in_pieces(text: &str) -> Option<String> {
    ["\"name\"", "\"tool\"", "\"tool_name\""].iter().find_map(|key| {
        let after = text.get(text.find(key)? + key.len()..)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        serde_json::from_str::<String>(raw::split_value(value)?.0).ok()
    })
}
