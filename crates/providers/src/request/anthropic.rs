//! The body of Anthropic Messages: user and assistant in turn, results first in the user's.

use serde_json::{Map, Value, json};
use toolcrib_core::Blob;

use super::body::{Asked, Body, Members, Piece, text_with_notes};
use super::history::{RebuiltCall, Step};
use crate::calls::text_of;
use crate::chat::UserKind;
use crate::declare::object;
use crate::format::Format;
use crate::wire;

/// Tokens of an answer when the request names no limit: Messages requires one. Every model that is still served takes this many.
pub const DEFAULT_MAX_TOKENS: u64 = 8_192;

/// What stands before a conversation whose first messages were trimmed away: Messages, Gemini and the templates of some local models begin with
/// the user.
pub(super) const EARLIER: &str = "[Earlier messages of this conversation are left out.]";

pub(super) fn body<'a>(asked: &Asked<'a>, steps: &'a [Step<'a>]) -> Body<'a> {
    let Asked { request, quirks, .. } = asked;
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
        let role = Piece::Made(role.into());
        Piece::Object(Members(vec![("role", role), ("content", Piece::List(content))]))
    });
    body.put("messages", Piece::List(messages.collect()));
    if let Some(tools) = asked.tools {
        body.put("tools", Piece::Kept(tools));
    } else if let Some(tools) = stand_ins(steps) {
        body.put("tools", Piece::Made(tools));
        body.put("tool_choice", Piece::Made(json!({"type": "none"})));
    }
    body
}

/// What thinking, which the owner adds to the body, asks of the rest of it: room for the answer behind the thoughts, no temperature, and a
/// history that a thinking model takes. What the owner adds besides stays.
pub(super) fn check_thinking(asked: &Asked<'_>, body: &mut Body<'_>, steps: &[Step<'_>]) {
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

/// Whether the last words of the model are calls in a work that it did not begin with a thought of its own: a model that is told to think
/// refuses those. It then goes on without thinking, until somebody speaks to it after its answer. What guards say, and answers to its
/// questions, are part of the work.
fn is_in_foreign_work(steps: &[Step<'_>]) -> bool {
    let is_said_to_it = |step: &Step<'_>| matches!(step, Step::User { .. });
    let Some(last) = steps.iter().rposition(|step| !is_said_to_it(step)) else { return false };
    let (before, _) = steps.split_at(last + 1);
    let has_calls = before.last().is_some_and(|step| match step {
        Step::Own { message, .. } => !message.turn.calls.is_empty(),
        Step::Rebuilt { .. } => true,
        Step::User { .. } | Step::Said(_) => false,
    });
    let begins = |step: &Step<'_>| matches!(step, Step::User { kind, .. } if !matches!(kind, UserKind::Guard | UserKind::Answer));
    let begin = before.iter().rposition(begins).map_or(0, |at| at + 1);
    let mut work = before.iter().skip(begin).filter(|step| !is_said_to_it(step)).peekable();
    has_calls
        && (!work.peek().is_some_and(|first| has_thoughts(first))
            || work.any(|step| matches!(step, Step::Rebuilt { .. })))
}

fn has_thoughts(step: &Step<'_>) -> bool {
    let Step::Own { message, .. } = step else { return false };
    let first =
        message.turn.assistant.pointer("/content/0").and_then(|block| text_of(block, "type"));
    matches!(first, Some("thinking" | "redacted_thinking"))
}

fn ephemeral() -> Value {
    json!({"type": "ephemeral"})
}

/// Messages by role, neighbours of one role joined.
#[derive(Default)]
struct Messages<'a> {
    list: Vec<(&'static str, Vec<Piece<'a>>)>,
}

impl<'a> Messages<'a> {
    fn step(&mut self, step: &'a Step<'a>, images: bool) {
        match step {
            Step::User { text, images: pictures, .. } => {
                let blocks = user(text, pictures, images);
                self.push("user", blocks.into_iter().map(Piece::Made));
            }
            Step::Said(text) => {
                self.push(
                    "assistant",
                    [Piece::Made(json!({"type": "text", "text": text.trim_end()}))],
                );
            }
            Step::Own { message, results } => {
                self.push("assistant", blocks(&message.turn.assistant));
                self.push("user", results.iter().flat_map(blocks));
            }
            Step::Rebuilt { text, calls, results } => {
                self.push("assistant", rebuilt(text, calls).into_iter().map(Piece::Made));
                self.push("user", results.iter().flat_map(blocks));
            }
        }
    }

    fn push(&mut self, role: &'static str, blocks: impl IntoIterator<Item = Piece<'a>>) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        if self.list.is_empty() && role == "assistant" {
            let earlier = Piece::Made(json!({"type": "text", "text": EARLIER}));
            self.list.push(("user", vec![earlier]));
        }
        match self.list.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => self.list.push((role, blocks.collect())),
        }
    }

    /// The last block of the last user message ends what the next request will read from the cache.
    fn mark_last(&mut self) {
        let Some(("user", content)) = self.list.last_mut() else { return };
        let Some(piece) = content.last_mut() else { return };
        let mut marked: Map<String, Value> = match piece {
            Piece::Made(Value::Object(block)) => std::mem::take(block),
            Piece::Kept(Value::Object(block)) => block.clone(),
            _ => return,
        };
        marked.insert("cache_control".to_owned(), ephemeral());
        *piece = Piece::Made(marked.into());
    }
}

fn blocks(message: &Value) -> impl Iterator<Item = Piece<'_>> {
    let blocks = message.get("content").and_then(Value::as_array);
    blocks.into_iter().flatten().map(Piece::Kept)
}

/// Pictures first, as the provider advises.
fn user(text: &str, images: &[Blob], takes_images: bool) -> Vec<Value> {
    let media = wire::pictures(images, Format::Anthropic, takes_images);
    let mut blocks: Vec<Value> = media.iter().filter(|m| m.fits).map(picture).collect();
    let text = text_with_notes(text, &media);
    if !text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    blocks
}

fn picture(media: &wire::Media<'_>) -> Value {
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

/// A request that speaks of calls must declare tools, also when none may be called. Their schemas no longer matter then.
fn stand_ins(steps: &[Step<'_>]) -> Option<Value> {
    let mut names: Vec<&str> = Vec::new();
    for step in steps {
        match step {
            Step::Own { message, .. } => {
                names.extend(message.turn.calls.iter().map(|call| call.name.as_str()));
            }
            Step::Rebuilt { calls, .. } => names.extend(calls.iter().map(|c| c.name.as_str())),
            Step::User { .. } | Step::Said(_) => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    let tool =
        |name: &&str| json!({"name": name, "description": "", "input_schema": {"type": "object"}});
    (!names.is_empty()).then(|| names.iter().map(tool).collect())
}
