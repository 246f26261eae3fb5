//! Finds the calls in a text.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::marked_blocks::{Block, Mark, OPEN, blocks};
use crate::raw_json;

/// A call found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextCall {
    pub(crate) name: String,
    /// The text of its arguments.
    pub(crate) args: String,
    /// Whether the text ends, or breaks, inside the call.
    pub(crate) cut: bool,
}

/// Members that contain the arguments.
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "params", "args", "input"];
/// Members that name the tool.
const NAMES: [&str; 4] = ["tool", "name", "tool_name", "function"];
/// Other members that a call may have.
const OTHERS: [&str; 4] = ["action", "id", "type", "call_id"];

/// Returns all calls in the text format.
pub(crate) fn find_calls(text: &str) -> Vec<TextCall> {
    let blocks = blocks(text);
    let marked: Vec<TextCall> = blocks
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

/// Returns only the calls in `<tool_call>` tags: servers of function-calling models leave these in
/// the content.
pub(crate) fn tagged_calls(text: &str) -> Vec<TextCall> {
    if !text.contains(OPEN) {
        return Vec::new();
    }
    blocks(text).iter().filter(|b| b.mark == Mark::Tag).flat_map(marked_calls).collect()
}

/// Returns the text without the calls.
pub(crate) fn without_calls(text: &str) -> String {
    let blocks: Vec<Block<'_>> = blocks(text)
        .into_iter()
        .filter(|b| matches!(b.mark, Mark::Tag | Mark::CallFence))
        .collect();
    if blocks.is_empty() { String::new() } else { outside(text, &blocks).trim().to_owned() }
}

/// Returns whether a part of the text looks like a call.
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

/// Returns the calls of a marked block; an unreadable block is one cut call if it names a tool.
fn marked_calls(block: &Block<'_>) -> Vec<TextCall> {
    let mut found = Vec::new();
    let mut rest = block.body.trim();
    while !rest.is_empty() {
        let read = raw_json::split_value(rest).and_then(|(value, after)| {
            value_calls(value, false).map(|calls| (calls, after.trim_start()))
        });
        let Some((calls, after)) = read else {
            found.extend(name_in_pieces(rest).map(|name| TextCall {
                name,
                args: rest.to_owned(),
                cut: true,
            }));
            break;
        };
        found.extend(calls);
        // Without the closing mark only complete JSON followed by white space is a call.
        rest = if block.closed { after.trim_start_matches(',').trim_start() } else { after };
    }
    found
}

/// Returns the calls of a text that consists of calls only; `None` for any other text.
fn bare_calls(text: &str) -> Option<Vec<TextCall>> {
    let mut rest = text.trim();
    if !rest.starts_with(['{', '[']) {
        return None;
    }
    let mut found = Vec::new();
    while !rest.is_empty() {
        let Some((value, after)) = raw_json::split_value(rest) else {
            let name = name_in_pieces(rest).filter(|_| rest.contains("\"tool\""))?;
            found.push(TextCall { name, args: rest.to_owned(), cut: true });
            break;
        };
        found.extend(value_calls(value, true)?);
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    Some(found)
}

/// Returns the calls of one JSON value: an object, a list of them, or `{"actions":[…]}`.
fn value_calls(text: &str, strictly: bool) -> Option<Vec<TextCall>> {
    let value: Value = serde_json::from_str(text).ok()?;
    if value.is_array() {
        return raw_json::elements(text)?.into_iter().map(|item| call_of(item, strictly)).collect();
    }
    match raw_json::member(text, "actions") {
        Some(actions) if value.get("actions").is_some_and(Value::is_array) => {
            raw_json::elements(actions)?.into_iter().map(|item| call_of(item, strictly)).collect()
        }
        _ => call_of(text, strictly).map(|call| vec![call]),
    }
}

fn call_of(text: &str, strictly: bool) -> Option<TextCall> {
    let value: Value = serde_json::from_str(text).ok()?;
    let object = value.as_object()?;
    if let Some(Value::Object(_)) = object.get("function") {
        return call_of(raw_json::member(text, "function")?, strictly);
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
    let args = match args_key.and_then(|key| Some((object.get(key)?, raw_json::member(text, key)?)))
    {
        None | Some((Value::Null, _)) => "{}".to_owned(),
        Some((Value::String(inner), _)) => inner.clone(),
        Some((_, raw)) => raw.to_owned(),
    };
    Some(with_action(name, args, object.get("action")))
}

/// Converts `{"tool","action","params"}`: the action becomes an argument, unless the arguments
/// already have one.
fn with_action(name: String, args: String, action: Option<&Value>) -> TextCall {
    let Some(action @ Value::String(_)) = action else {
        return TextCall { name, args, cut: false };
    };
    let given: Value = serde_json::from_str(&args).unwrap_or(Value::Null);
    let Some(object) = given.as_object() else { return TextCall { name, args, cut: true } };
    match object.get("action") {
        Some(inner) => TextCall { name, cut: inner != action, args },
        None => {
            let inner = args.trim().strip_prefix('{').unwrap_or_default();
            let comma = if object.is_empty() { "" } else { "," };
            TextCall { name, args: format!("{{\"action\":{action}{comma}{inner}"), cut: false }
        }
    }
}

/// Returns the tool's name in a call that cannot be parsed as a whole.
fn name_in_pieces(text: &str) -> Option<String> {
    ["\"name\"", "\"tool\"", "\"tool_name\""].iter().find_map(|key| {
        let after = text.get(text.find(key)? + key.len()..)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        serde_json::from_str::<String>(raw_json::split_value(value)?.0).ok()
    })
}
