//! Parses a Gemini `generateContent` body, a bare model content, or the chunks of a stream into a
//! turn.
#![deny(clippy::indexing_slicing)]

use serde_json::{Value, json};

use super::stream::{Answer, Part};
use crate::call_collector::{
    AddResult, AnswerEnd, CUT, CallCollector, broken, field, replay_object, text_field,
};
use crate::model_turn::{CallKind, Extra, HostedCall, ModelCall, Stop, Turn, Usage};
use crate::parse_response::ResponseBody;
use crate::raw_json::{self, PathStep};
use crate::wire_format::Format;

/// Text for the calls of an answer that Gemini reports as malformed.
const MALFORMED: &str = "The provider reported a malformed function call, so this call was not run. Send it again with arguments that fit the schema.";

pub(crate) fn parse(doc: &ResponseBody) -> Option<Turn> {
    let answer = match doc {
        ResponseBody::Whole(chunk) => Answer::from_body(chunk),
        ResponseBody::Stream(stream) => Answer::from_stream(stream),
        ResponseBody::Plain(_) => return None,
    };
    answer.begun.then(|| turn(answer))
}

fn turn(answer: Answer) -> Turn {
    let malformed = answer.finish.as_deref().is_some_and(is_malformed);
    let end = match answer.finish.as_deref() {
        _ if !answer.whole => AnswerEnd::Broken,
        None | Some("STOP" | "FINISH_REASON_UNSPECIFIED") => AnswerEnd::Whole,
        Some(_) => AnswerEnd::Cut,
    };
    let usage = (answer.usage != Usage::default()).then_some(answer.usage);
    let mut notes = answer.notes;
    let mut reasoning = String::new();
    let given = |part: &Part| {
        let inner = part.value.get(call_key(&part.value)?)?;
        text_field(inner, "id").map(str::to_owned)
    };
    let used: Vec<_> = answer.parts.iter().map(given).collect();
    let mut calls = CallCollector::new(used.iter().map(Option::as_deref));
    let (mut hosted, mut replay, mut text) = (Vec::new(), Vec::new(), String::new());
    let count = answer.parts.len();
    for (i, Part { mut value, raw }) in answer.parts.into_iter().enumerate() {
        if let Some(key) = call_key(&value) {
            let (args, mut call) = call(&value, key, &raw, end, i + 1 == count);
            if malformed {
                call.args = broken(MALFORMED);
            }
            if calls.add(call) == AddResult::Repeated {
                continue;
            }
            put_back(&mut value, key, &args, calls.last_id());
        } else if let Some(call) = hosted_call(&value) {
            hosted.push(call);
        } else {
            let is_thought = value.get("thought") == Some(&Value::Bool(true));
            let into = if is_thought { &mut reasoning } else { &mut text };
            into.push_str(text_field(&value, "text").unwrap_or_default());
        }
        replay.push(value);
    }
    if let Some(item) = answer.searched {
        let name = Some("google_search".to_owned());
        hosted.push(HostedCall { id: None, kind: "groundingMetadata".to_owned(), name, item });
    }
    if malformed {
        let reason = answer.finish.as_deref().unwrap_or_default();
        notes.push(format!("the provider reports {reason}: ask the model again"));
    }
    notes.append(&mut calls.take_notes());
    let mut content = answer.content;
    content.insert("role".to_owned(), "model".into());
    content.insert("parts".to_owned(), replay.into());
    let has_calls = !calls.list.is_empty();
    let stop = match (answer.failure, answer.blocked) {
        (Some(stop), _) => stop,
        (None, Some(_)) => Stop::Refused,
        (None, None) => stop(answer.finish.as_deref(), has_calls),
    };
    Turn {
        reasoning,
        usage,
        format: Format::Gemini,
        calls: calls.list,
        hosted,
        text,
        stop,
        assistant: Value::Object(content),
        complete: end != AnswerEnd::Broken,
        notes,
    }
}

/// Returns the member with a part's call, in either spelling.
pub(crate) fn call_key(part: &Value) -> Option<&'static str> {
    ["functionCall", "function_call"]
        .into_iter()
        .find(|key| part.get(key).is_some_and(Value::is_object))
}

fn call(part: &Value, key: &str, raw: &str, end: AnswerEnd, last: bool) -> (String, ModelCall) {
    let inner = part.get(key).unwrap_or(&Value::Null);
    let args = match inner.get("args") {
        None | Some(Value::Null) => String::new(),
        Some(args) => raw_json::find(raw, &[PathStep::Key(key), PathStep::Key("args")])
            .map_or_else(|| args.to_string(), str::to_owned),
    };
    // Arguments in pieces (Vertex, streamFunctionCallArguments) are never requested, so such a call
    // is incomplete.
    let in_pieces = field(inner, &["partialArgs", "partial_args"]).is_some()
        || field(inner, &["willContinue", "will_continue"])
            .is_some_and(|w| w == &Value::Bool(true));
    let judged = match () {
        () if in_pieces && end != AnswerEnd::Broken => broken(CUT),
        () => end.value(args.clone(), last),
    };
    let signature = field(part, &["thoughtSignature", "thought_signature"]);
    let extra = Extra {
        kind: CallKind::Function,
        thought_signature: signature.and_then(Value::as_str).map(str::to_owned),
        ..Extra::default()
    };
    let call = ModelCall {
        provider_id: text_field(inner, "id").map(str::to_owned),
        name: text_field(inner, "name").unwrap_or_default().to_owned(),
        args: judged,
        extra,
    };
    (args, call)
}

/// Corrects a replayed call: its arguments must be an object, and its id must be that of its
/// result.
fn put_back(part: &mut Value, key: &str, args: &str, id: Option<&str>) {
    let Some(inner) = part.get_mut(key).and_then(Value::as_object_mut) else { return };
    if let Some(id) = id {
        inner.insert("id".to_owned(), id.into());
    }
    if !inner.get("args").is_none_or(Value::is_object) {
        inner.insert("args".to_owned(), replay_object(args));
    }
}

/// Returns the member with a call that the provider runs itself.
pub(crate) fn hosted_key(part: &Value) -> Option<&'static str> {
    ["executableCode", "executable_code", "toolCall", "tool_call"]
        .into_iter()
        .find(|key| part.get(key).is_some())
}

fn hosted_call(part: &Value) -> Option<HostedCall> {
    let kind = hosted_key(part)?;
    let inner = part.get(kind)?;
    Some(HostedCall {
        id: text_field(inner, "id").map(str::to_owned),
        kind: kind.to_owned(),
        name: text_field(inner, "name")
            .or_else(|| text_field(inner, "toolType"))
            .map(str::to_owned),
        item: json!(part),
    })
}

fn is_malformed(reason: &str) -> bool {
    matches!(
        reason,
        "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MISSING_THOUGHT_SIGNATURE"
            | "MALFORMED_RESPONSE"
    )
}

/// Returns the stop reason. Gemini reports `STOP` for calls too.
fn stop(finish: Option<&str>, has_calls: bool) -> Stop {
    match finish {
        Some("MAX_TOKENS") => Stop::Length,
        Some(
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY"
            | "LANGUAGE",
        ) => Stop::Refused,
        Some(reason) if is_malformed(reason) => Stop::Other(reason.to_owned()),
        _ if has_calls => Stop::Calls,
        Some("STOP") => Stop::End,
        Some(other) => Stop::Other(other.to_owned()),
        None => Stop::Missing,
    }
}
