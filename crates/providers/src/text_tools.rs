//! Text tools: calls and results as plain text, for models without function calling.
//!
//! The rules distinguish calls from prose. A model that explains how to call a tool must not
//! thereby call it, so:
//! - `<tool_call>…</tool_call>` at the start of a line outside code fences, and a fence marked
//!   `tool_call`, are calls anywhere in the text: the mark belongs to the protocol.
//! - A `json` or unmarked fence, and bare JSON, are calls only if the whole message consists of
//!   them and every object in it has the form of a call: `{"name","arguments"}`,
//!   `{"tool","action","params"}` or `{"actions":[…]}`.
//! - Anything else, such as a tag in the middle of a line, in a quotation or in another fence, is
//!   prose; a note reports it.

mod declare;
mod find_calls;
mod marked_blocks;

use serde_json::{Value, json};
use toolcrib_core::RawArgs;

pub(crate) use declare::{import_tools, prompt, tool};
pub(crate) use find_calls::{TextCall, find_calls, tagged_calls, without_calls};

use crate::call_collector::{UNFINISHED, args_object, broken};
use crate::model_turn::{Extra, ModelCall, Stop, Turn};
use crate::result_content;
use crate::result_messages::CallResult;
use crate::wire_format::Format;

/// Parses a text answer; never fails, because prose is an answer too.
pub(crate) fn parse(text: &str) -> Turn {
    let found = find_calls(text);
    let complete = !found.iter().any(|call| call.cut);
    let mut notes = Vec::new();
    if found.is_empty() && find_calls::mentions_call(text) {
        notes.push(
            "text that looks like a tool call is part of prose, a quotation or an example, so it was not run"
                .to_owned(),
        );
    }
    if !complete {
        notes.push("the text ends inside a call; none of its calls is run".to_owned());
    }
    let calls: Vec<ModelCall> = found
        .into_iter()
        .map(|call| ModelCall {
            provider_id: None,
            name: call.name,
            args: if complete { RawArgs::Text(call.args) } else { broken(UNFINISHED) },
            extra: Extra::default(),
        })
        .collect();
    Turn {
        reasoning: String::new(),
        usage: None,
        format: Format::Text,
        stop: if calls.is_empty() { Stop::End } else { Stop::Calls },
        text: if calls.is_empty() { text.trim().to_owned() } else { without_calls(text) },
        calls,
        hosted: Vec::new(),
        assistant: json!({"role": "assistant", "content": text}),
        complete,
        notes,
    }
}

/// Converts a turn whose text contains the calls.
pub(crate) fn from_envelope(envelope: Turn) -> Turn {
    let mut words = envelope.text;
    let own = if find_calls(&words).is_empty() { envelope.calls } else { Vec::new() };
    if !own.is_empty() {
        // A model may call natively although no tools were declared.
        let args: Vec<Value> = own.iter().map(|call| args_object(&call.args)).collect();
        words = message_text(&words, own.iter().map(|call| call.name.as_str()).zip(&args));
    }
    let mut turn = parse(&words);
    for (call, own) in turn.calls.iter_mut().zip(own) {
        call.args = own.args;
    }
    if !envelope.complete {
        turn.calls.iter_mut().for_each(|call| call.args = broken(UNFINISHED));
    }
    let mut notes = envelope.notes;
    notes.append(&mut turn.notes);
    Turn {
        stop: if turn.calls.is_empty() || envelope.stop == Stop::Length {
            envelope.stop
        } else {
            Stop::Calls
        },
        hosted: envelope.hosted,
        reasoning: envelope.reasoning,
        usage: envelope.usage,
        // Only the call without an end is broken; the answer around it is complete.
        complete: envelope.complete,
        notes,
        ..turn
    }
}

/// Renders text and calls as a model without function calling writes them.
pub(crate) fn message_text<'a>(
    text: &str,
    calls: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> String {
    let mut words = text.trim().to_owned();
    for (name, args) in calls {
        if !words.is_empty() {
            words.push('\n');
        }
        let call = json!({"name": name, "arguments": args});
        words.push_str(&format!("<tool_call>\n{call}\n</tool_call>"));
    }
    words
}

/// Renders one user message with all results. Inside the JSON `<` is escaped as `\u003c`, so that
/// no result can close its own element.
pub(crate) fn reply(turn: &Turn, answers: &[CallResult<'_>]) -> Vec<Value> {
    if answers.is_empty() {
        return Vec::new();
    }
    let parts: Vec<String> = turn
        .calls
        .iter()
        .zip(answers)
        .enumerate()
        .map(|(i, (call, answer))| {
            let mut body =
                result_content::text(answer, result_content::limits(Format::Text).result_chars);
            for media in result_content::media(answer, Format::Text) {
                body.push('\n');
                body.push_str(&result_content::omitted_note(&media));
            }
            let name = attribute(&call.name);
            let body = body.replace('<', "\\u003c");
            format!("<tool_result name=\"{name}\" id=\"{}\">\n{body}\n</tool_result>", i + 1)
        })
        .collect();
    vec![json!({"role": "user", "content": parts.join("\n")})]
}

fn attribute(name: &str) -> String {
    name.chars()
        .take(100)
        .map(|c| if c.is_alphanumeric() || "_-.:".contains(c) { c } else { '_' })
        .collect()
}
