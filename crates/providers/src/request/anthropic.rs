//! Request body of Anthropic Messages: alternating user and assistant messages, results first in
//! the user's.

use serde_json::{Map, Value, json};
use toolcrib_core::Blob;

use super::json_body::{Body, JsonPiece, Members, RequestInput, text_with_notes};
use super::render_history::{RebuiltCall, RenderedMessage};
use crate::call_collector::text_field;
use crate::conversation::UserKind;
use crate::json_object::object;
use crate::result_content;
use crate::wire_format::Format;

/// Output limit if the request has none: Messages requires one, and every current model accepts
/// this many tokens.
pub const DEFAULT_MAX_TOKENS: u64 = 8_192;

/// First user message after the beginning of a conversation was trimmed: Messages, Gemini and
/// templates of some local models require the user first.
pub(super) const OMITTED_NOTE: &str = "[Earlier messages of this conversation are left out.]";

pub(super) fn body<'a>(asked: &RequestInput<'a>, steps: &'a [RenderedMessage<'a>]) -> Body<'a> {
    let RequestInput { request, quirks, .. } = asked;
    let mark = |text: &str| json!([{"type": "text", "text": text, "cache_control": ephemeral()}]);
    let system = Some(asked.system).filter(|system| !system.is_empty());
    let system = system.map(|s| if quirks.cache_control { mark(s) } else { s.into() });
    let mut body = Body::new([
        ("model", Some(asked.info.model.as_str().into())),
        ("max_tokens", Some(request.max_output.unwrap_or(DEFAULT_MAX_TOKENS).into())),
        ("temperature", asked.temperature().map(Value::from)),
        ("stream", Some(request.stream.into())),
        ("system", system),
    ]);
    let mut messages = Messages::default();
    for step in steps {
        messages.step(step, quirks.images);
    }
    if quirks.cache_control {
        messages.mark_last();
    }
    let messages = messages.list.into_iter().map(|(role, content)| {
        let role = JsonPiece::Made(role.into());
        JsonPiece::Object(Members(vec![("role", role), ("content", JsonPiece::List(content))]))
    });
    body.put("messages", JsonPiece::List(messages.collect()));
    if let Some(tools) = asked.tools {
        body.put("tools", JsonPiece::Kept(tools));
    } else if let Some(tools) = placeholder_tools(steps) {
        body.put("tools", JsonPiece::Made(tools));
        body.put("tool_choice", JsonPiece::Made(json!({"type": "none"})));
    }
    body
}

/// Adapts the request to the thinking options of the configuration: room for the answer in addition
/// to the thinking budget, no temperature, and a history that a thinking model accepts. Other
/// configured members remain.
pub(super) fn check_thinking(
    asked: &RequestInput<'_>,
    body: &mut Body<'_>,
    steps: &[RenderedMessage<'_>],
) {
    let Some(thinking) = body.small.get("thinking").filter(|t| t["type"] != "disabled") else {
        return;
    };
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
    if thinking["type"] == "enabled" && is_in_foreign_work(steps) {
        body.small.shift_remove("thinking");
        return;
    }
    let extra = &asked.quirks.extra;
    if !extra.contains_key("temperature") {
        body.small.shift_remove("temperature");
    }
    let given = asked.request.max_output;
    if let Some(budget) = budget.filter(|_| !extra.contains_key("max_tokens"))
        && given.is_none_or(|given| given <= budget)
    {
        let tokens = budget.saturating_add(given.unwrap_or(DEFAULT_MAX_TOKENS));
        body.small.insert("max_tokens".to_owned(), tokens.into());
    }
}

/// Returns whether the conversation ends with calls in a tool loop that the model did not begin
/// with a thinking block: with thinking enabled, Messages rejects that. The model then continues
/// without thinking until the next user message after its answer. Messages of loop guards and
/// answers to the model's questions count as part of the loop.
fn is_in_foreign_work(steps: &[RenderedMessage<'_>]) -> bool {
    let is_said_to_it = |step: &RenderedMessage<'_>| matches!(step, RenderedMessage::User { .. });
    let Some(last) = steps.iter().rposition(|step| !is_said_to_it(step)) else { return false };
    let (before, _) = steps.split_at(last + 1);
    let has_calls = before.last().is_some_and(|step| match step {
        RenderedMessage::Own { message, .. } => !message.turn.calls.is_empty(),
        RenderedMessage::Rebuilt { .. } => true,
        RenderedMessage::User { .. } | RenderedMessage::ModelText(_) => false,
    });
    let begins = |step: &RenderedMessage<'_>| matches!(step, RenderedMessage::User { kind, .. } if !matches!(kind, UserKind::Guard | UserKind::Answer));
    let begin = before.iter().rposition(begins).map_or(0, |at| at + 1);
    let mut work = before.iter().skip(begin).filter(|step| !is_said_to_it(step)).peekable();
    has_calls
        && (!work.peek().is_some_and(|first| has_thoughts(first))
            || work.any(|step| matches!(step, RenderedMessage::Rebuilt { .. })))
}

fn has_thoughts(step: &RenderedMessage<'_>) -> bool {
    let RenderedMessage::Own { message, .. } = step else { return false };
    let first =
        message.turn.assistant.pointer("/content/0").and_then(|block| text_field(block, "type"));
    matches!(first, Some("thinking" | "redacted_thinking"))
}

fn ephemeral() -> Value {
    json!({"type": "ephemeral"})
}

/// Messages by role, adjacent ones of one role merged.
#[derive(Default)]
struct Messages<'a> {
    list: Vec<(&'static str, Vec<JsonPiece<'a>>)>,
}

impl<'a> Messages<'a> {
    fn step(&mut self, step: &'a RenderedMessage<'a>, images: bool) {
        match step {
            RenderedMessage::User { text, images: pictures, .. } => {
                let blocks = user(text, pictures, images);
                self.push("user", blocks.into_iter().map(JsonPiece::Made));
            }
            RenderedMessage::ModelText(text) => {
                self.push(
                    "assistant",
                    [JsonPiece::Made(json!({"type": "text", "text": text.trim_end()}))],
                );
            }
            RenderedMessage::Own { message, results } => {
                let new = self.unrepeated(&message.turn.assistant);
                self.push("assistant", new);
                self.push("user", results.iter().flat_map(blocks));
            }
            RenderedMessage::Rebuilt { text, calls, results } => {
                self.push("assistant", rebuilt(text, calls).into_iter().map(JsonPiece::Made));
                self.push("user", results.iter().flat_map(blocks));
            }
        }
    }

    /// Returns the blocks of a turn that the assistant's message does not contain yet: a model that
    /// continues a paused turn may repeat blocks, and Messages rejects a hosted call or a result
    /// that occurs in a request twice.
    fn unrepeated(&self, assistant: &'a Value) -> Vec<JsonPiece<'a>> {
        let before = match self.list.last() {
            Some(("assistant", content)) => content.as_slice(),
            _ => &[],
        };
        let is_known = |test: &dyn Fn(&Value) -> bool| {
            before.iter().any(|piece| matches!(piece, JsonPiece::Kept(known) if test(known)))
        };
        let content = assistant.get("content").and_then(Value::as_array);
        let content = content.map(Vec::as_slice).unwrap_or_default();
        let has_id = |block: &Value| {
            let id = hosted_id(block);
            id.is_some() && is_known(&|known| hosted_id(known) == id)
        };
        let repeats = content.iter().any(has_id);
        let is_new =
            |block: &&Value| !repeats || !(has_id(block) || is_known(&|known| known == *block));
        content.iter().filter(is_new).map(JsonPiece::Kept).collect()
    }

    fn push(&mut self, role: &'static str, blocks: impl IntoIterator<Item = JsonPiece<'a>>) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        if self.list.is_empty() && role == "assistant" {
            let earlier = JsonPiece::Made(json!({"type": "text", "text": OMITTED_NOTE}));
            self.list.push(("user", vec![earlier]));
        }
        match self.list.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => self.list.push((role, blocks.collect())),
        }
    }

    /// Marks the end of the prefix that the next request reads from the cache: the last block of
    /// the last user message.
    fn mark_last(&mut self) {
        let Some(("user", content)) = self.list.last_mut() else { return };
        let Some(piece) = content.last_mut() else { return };
        let mut marked: Map<String, Value> = match piece {
            JsonPiece::Made(Value::Object(block)) => std::mem::take(block),
            JsonPiece::Kept(Value::Object(block)) => block.clone(),
            _ => return,
        };
        marked.insert("cache_control".to_owned(), ephemeral());
        *piece = JsonPiece::Made(marked.into());
    }
}

fn blocks(message: &Value) -> impl Iterator<Item = JsonPiece<'_>> {
    let blocks = message.get("content").and_then(Value::as_array);
    blocks.into_iter().flatten().map(JsonPiece::Kept)
}

/// Returns the identity of a block of a hosted call: its id, or for a result the id of its call.
fn hosted_id(block: &Value) -> Option<(&str, bool)> {
    let kind = text_field(block, "type")?;
    match text_field(block, "tool_use_id") {
        Some(id) => Some((id, true)),
        None if kind.ends_with("tool_use") => Some((text_field(block, "id")?, false)),
        None => None,
    }
}

/// Renders a user message with images first, as Anthropic recommends.
fn user(text: &str, images: &[Blob], takes_images: bool) -> Vec<Value> {
    let media = result_content::user_images(images, Format::Anthropic, takes_images);
    let mut blocks: Vec<Value> = media.iter().filter(|m| m.fits).map(picture).collect();
    let text = text_with_notes(text, &media);
    if !text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    blocks
}

fn picture(media: &result_content::Media<'_>) -> Value {
    let source = object([
        ("type", "base64".into()),
        ("media_type", media.blob.media_type.as_str().into()),
        ("data", media.base64().into()),
    ]);
    object([("type", "image".into()), ("source", source.into())]).into()
}

fn rebuilt(text: &str, calls: &[RebuiltCall]) -> Vec<Value> {
    let said = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let calls = calls.iter().map(
        |call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.args}),
    );
    said.into_iter().chain(calls).collect()
}

/// Declares placeholder tools: a request whose history contains calls must declare tools, even if
/// none may be called. Their schemas do not matter then.
fn placeholder_tools(steps: &[RenderedMessage<'_>]) -> Option<Value> {
    let mut names: Vec<&str> = Vec::new();
    for step in steps {
        match step {
            RenderedMessage::Own { message, .. } => {
                names.extend(message.turn.calls.iter().map(|call| call.name.as_str()));
            }
            RenderedMessage::Rebuilt { calls, .. } => {
                names.extend(calls.iter().map(|c| c.name.as_str()));
            }
            RenderedMessage::User { .. } | RenderedMessage::ModelText(_) => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    let tool =
        |name: &&str| json!({"name": name, "description": "", "input_schema": {"type": "object"}});
    (!names.is_empty()).then(|| names.iter().map(tool).collect())
}
