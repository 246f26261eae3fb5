//! Assembles the chunks of a Gemini stream into one answer.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::usage;
use crate::call_collector::{MAX_BLOCKS, field, over_limit, text_field};
use crate::model_turn::{Stop, Usage};
use crate::parse_error::{ParseError, provider_error};
use crate::parse_response::{ParsedStream, RawValue};
use crate::raw_json::{self, PathStep};

/// One part and its text.
pub(super) struct Part {
    pub(super) value: Value,
    pub(super) raw: String,
}

/// An answer before its calls are checked.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) parts: Vec<Part>,
    /// Members of the content other than the parts.
    pub(super) content: Map<String, Value>,
    pub(super) finish: Option<String>,
    pub(super) blocked: Option<String>,
    pub(super) failure: Option<Stop>,
    pub(super) whole: bool,
    pub(super) begun: bool,
    pub(super) usage: Usage,
    pub(super) notes: Vec<String>,
    /// Search results of the provider for this answer.
    pub(super) searched: Option<Value>,
}

impl Answer {
    /// Returns the answer of a body, which has the form of a chunk.
    pub(super) fn from_body(chunk: &RawValue) -> Self {
        let mut answer = Self::default();
        answer.push(chunk);
        answer.whole = answer.failure.is_none();
        answer
    }

    /// Returns the answer of a stream.
    pub(super) fn from_stream(stream: &ParsedStream) -> Self {
        let mut answer = Self::default();
        for chunk in &stream.chunks {
            answer.push(chunk);
        }
        answer.end(stream);
        answer
    }

    fn end(&mut self, stream: &ParsedStream) {
        let ended = self.finish.is_some() || self.blocked.is_some();
        self.whole = ended && stream.broken.is_none() && self.failure.is_none();
        self.notes.extend(stream.broken.clone());
        if !self.whole && self.failure.is_none() {
            self.notes.push("the stream ended before the answer was complete".to_owned());
        }
    }

    fn push(&mut self, chunk: &RawValue) {
        let value = &chunk.value;
        usage::add(&mut self.usage, value);
        if let Some(candidates) = value.get("candidates").and_then(Value::as_array) {
            self.begun = true;
            if candidates.len() > 1 {
                self.notes.push(format!("{} candidates; the first one counts", candidates.len()));
            }
            let is_first = |c: &&Value| c.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
            let at = candidates.iter().position(|candidate| is_first(&candidate));
            if let Some((at, first)) = at.and_then(|at| Some((at, candidates.get(at)?))) {
                let place =
                    [PathStep::Key("candidates"), PathStep::Index(at), PathStep::Key("content")];
                let raw = raw_json::find(&chunk.text, &place).unwrap_or_default();
                self.content(first.get("content"), raw);
                let grounding = field(first, &["groundingMetadata", "grounding_metadata"]);
                if let Some(Value::Object(found)) = grounding.filter(|_| self.searched.is_none())
                    && !found.is_empty()
                {
                    self.searched = Some(found.clone().into());
                }
                let finish = field(first, &["finishReason", "finish_reason"]);
                if let Some(Value::String(reason)) = finish {
                    self.finish = Some(reason.clone());
                }
            }
        } else if value.get("parts").is_some_and(Value::is_array) && is_model(value) {
            self.begun = true;
            self.content(Some(value), &chunk.text);
        } else if let Some(ParseError::Provider { kind, message }) = provider_error(value) {
            self.notes.push(format!("the provider failed in the middle ({kind}): {message}"));
            self.failure.get_or_insert(Stop::Failed(message));
        }
        let feedback = field(value, &["promptFeedback", "prompt_feedback"]);
        let reason = feedback.and_then(|f| field(f, &["blockReason", "block_reason"]));
        if let Some(Value::String(reason)) = reason {
            self.begun = true;
            self.notes.push(format!("the prompt was blocked: {reason}"));
            self.blocked = Some(reason.clone());
        }
    }

    fn content(&mut self, content: Option<&Value>, raw: &str) {
        let Some(content) = content.and_then(Value::as_object) else { return };
        for (key, value) in content.iter().filter(|(key, _)| *key != "parts") {
            self.content.insert(key.clone(), value.clone());
        }
        let raws = raw_json::member(raw, "parts").and_then(raw_json::elements).unwrap_or_default();
        let parts = content.get("parts").and_then(Value::as_array);
        for (i, part) in parts.into_iter().flatten().enumerate() {
            self.part(part, raws.get(i).copied().unwrap_or_default());
        }
    }

    /// Joins parts of plain text; a part with other members, such as a signature, remains
    /// unchanged.
    fn part(&mut self, part: &Value, raw: &str) {
        if let (Some(more), Some(last)) = (plain_text(part), self.parts.last_mut())
            && plain_text(&last.value).is_some()
            && let Some(Value::String(text)) = last.value.get_mut("text")
        {
            text.push_str(more);
            return;
        }
        if self.parts.len() == MAX_BLOCKS {
            self.failure = self
                .failure
                .take()
                .or_else(|| over_limit(MAX_BLOCKS + 1, MAX_BLOCKS, &mut self.notes));
            return;
        }
        self.parts.push(Part { value: part.clone(), raw: raw.to_owned() });
    }
}

fn is_model(value: &Value) -> bool {
    matches!(text_field(value, "role"), Some("model") | None)
}

fn plain_text(part: &Value) -> Option<&str> {
    let object = part.as_object()?;
    (object.len() == 1).then(|| object.get("text")?.as_str())?
}
