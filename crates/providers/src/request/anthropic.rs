//! The body of Anthropic Messages: user and assistant in turn, results first in the user's.

use serde_json::{Map, Value, json};
use toolcrib_core::Blob;

use super::body::{Asked, Body, Members, Piece, text_with_notes};
use super::history::{RebuiltCall, Step};
use crate::declare::object;
use crate::format::Format;
use crate::wire;

/// Tokens of an answer when the request names no limit: Messages requires one. Every model that is still served takes this many.
pub const DEFAULT_MAX_TOKENS: u64 = 8_192;

/// What stands before a conversation whose first messages were trimmed away: Messages and Gemini begin with the user.
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

/// A model that is told to think refuses a turn with calls, since the last message of the user, that begins with no thought of its own. Where
/// another model began that work, this one goes on without thinking, until the user speaks again.
pub(super) fn check_thinking(body: &mut Body<'_>, steps: &[Step<'_>]) {
    let must_think = body.small.get("thinking").is_some_and(|t| t["type"] == "enabled");
    let last_user = steps.iter().rposition(|step| matches!(step, Step::User { .. }));
    let since = steps.get(last_user.map_or(0, |at| at + 1)..).unwrap_or_default();
    if must_think && since.iter().any(|step| matches!(step, Step::Rebuilt { .. })) {
        body.small.shift_remove("thinking");
    }
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
            Step::User { text, images: pictures } => {
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
