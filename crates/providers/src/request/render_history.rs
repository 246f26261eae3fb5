//! Decides how each message of a conversation is rendered for one provider: unchanged, or rebuilt.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{Blob, RawArgs};

use crate::call_collector::{args_object, text_field};
use crate::conversation::{CallAnswer, Message, ModelMessage, UserKind};
use crate::model::{ModelInfo, ModelRequest};
use crate::model_turn::{Extra, ModelCall, Stop, Turn};
use crate::quirks::Dialect;
use crate::result_messages::{CallResult, ResultEntry, ollama_result_messages, result_messages};
use crate::text_tools;
use crate::tool_declarations::Declarations;
use crate::wire_format::Format;
use crate::wire_names;

/// One message, or a part of one, in the order of rendering.
pub(super) enum RenderedMessage<'a> {
    /// A message to the model.
    User { text: Cow<'a, str>, images: &'a [Blob], kind: UserKind },
    /// Text of the model without calls.
    ModelText(Cow<'a, str>),
    /// The model's own turn, unchanged, and the results of its calls in this format.
    Own { message: &'a ModelMessage, results: Vec<Value> },
    /// A turn of another model in this format, and its results.
    Rebuilt { text: &'a str, calls: Vec<RebuiltCall>, results: Vec<Value> },
}

/// A call rebuilt in this format.
pub(super) struct RebuiltCall {
    /// Generated: nine letters and digits, which every provider accepts (Mistral requires exactly
    /// nine).
    pub(super) id: String,
    pub(super) name: String,
    /// An object.
    pub(super) args: Value,
}

/// Returns the conversation as this provider receives it.
pub(super) fn render_history<'a>(
    info: &ModelInfo,
    dialect: &Dialect,
    request: &'a ModelRequest,
) -> Vec<RenderedMessage<'a>> {
    let mut teller = HistoryRenderer {
        info,
        dialect,
        declared: request.tools.as_deref(),
        taken: used_call_ids(&request.messages),
        used: HashSet::new(),
        steps: Vec::with_capacity(request.messages.len()),
    };
    for (at, message) in request.messages.iter().enumerate() {
        match message.as_ref() {
            Message::User(user) => {
                if !user.text.trim().is_empty() || !user.images.is_empty() {
                    let text = Cow::Borrowed(user.text.as_str());
                    let (images, kind) = (user.images.as_slice(), user.kind);
                    teller.steps.push(RenderedMessage::User { text, images, kind });
                }
            }
            Message::Model(message) => teller.model(at, message),
        }
    }
    teller.steps
}

fn used_call_ids(messages: &[Arc<Message>]) -> HashSet<&str> {
    let calls = messages.iter().flat_map(|message| match message.as_ref() {
        Message::Model(message) => message.turn.calls.as_slice(),
        Message::User(_) => &[],
    });
    calls.filter_map(|call| call.provider_id.as_deref()).filter(|id| id.len() == 9).collect()
}

struct HistoryRenderer<'r, 'a> {
    info: &'r ModelInfo,
    dialect: &'r Dialect,
    declared: Option<&'a Declarations>,
    /// Ids of providers that could collide with a generated one.
    taken: HashSet<&'a str>,
    /// Ids of the calls rendered so far.
    used: HashSet<&'a str>,
    steps: Vec<RenderedMessage<'a>>,
}

impl<'a> HistoryRenderer<'_, 'a> {
    fn model(&mut self, at: usize, message: &'a ModelMessage) {
        let turn = &message.turn;
        let has_text = !turn.text.trim().is_empty();
        if !turn.complete {
            self.said(&turn.text);
        } else if self.dialect.text_tools {
            self.text_turn(message);
        } else if is_own(self.info, self.dialect, message) && self.are_ids_new(turn) {
            if has_text || !turn.calls.is_empty() || !turn.hosted.is_empty() {
                self.used.extend(turn.calls.iter().filter_map(|c| c.provider_id.as_deref()));
                let results = results(turn, message.answers(), self.dialect.quirks.ollama);
                self.steps.push(RenderedMessage::Own { message, results });
            }
        } else if turn.calls.is_empty() {
            self.said(&turn.text);
        } else {
            self.rebuilt(at, message);
        }
    }

    fn said(&mut self, text: &'a str) {
        if !text.trim().is_empty() {
            self.steps.push(RenderedMessage::ModelText(text.into()));
        }
    }

    /// Returns whether all ids of a turn are new. Two calls with one id in one turn cannot be
    /// matched with their results; Anthropic accepts each id once in a whole request.
    fn are_ids_new(&self, turn: &Turn) -> bool {
        let ids = || turn.calls.iter().filter_map(|call| call.provider_id.as_deref());
        let alone = turn.calls.len() < 2 || {
            let mut seen = HashSet::new();
            ids().all(|id| seen.insert(id))
        };
        alone
            && (self.dialect.format != Format::Anthropic || ids().all(|id| !self.used.contains(id)))
    }

    fn rebuilt(&mut self, at: usize, message: &'a ModelMessage) {
        let turn = &message.turn;
        let calls = self.calls(at, message);
        let stand_in = placeholder_turn(self.dialect.format, &calls);
        let results = results(&stand_in, message.answers(), self.dialect.quirks.ollama);
        self.steps.push(RenderedMessage::Rebuilt { text: turn.text.trim(), calls, results });
    }

    fn calls(&self, at: usize, message: &ModelMessage) -> Vec<RebuiltCall> {
        let format = self.dialect.tools_format();
        let answers = message.answers().iter().map(Option::as_ref);
        let answers = answers.chain(std::iter::repeat(None));
        let calls = message.turn.calls.iter().zip(answers).enumerate();
        calls
            .map(|(i, (call, answer))| RebuiltCall {
                id: self.made_id(at, i),
                name: self.name(format, call, answer),
                args: args_object(&call.args),
            })
            .collect()
    }

    /// Returns a generated id that depends only on the position, so that the provider's prompt
    /// cache stays valid.
    fn made_id(&self, at: usize, call: usize) -> String {
        let made = |letter: char| format!("{letter}{at:05}{call:03}");
        let free = ('c'..='z').map(made).find(|id| !self.taken.contains(id.as_str()));
        free.unwrap_or_else(|| made('c'))
    }

    /// Returns the wire name of the tool in this format.
    fn name(&self, format: Format, call: &ModelCall, answer: Option<&CallAnswer>) -> String {
        let canonical = answer.and_then(|answer| answer.tool.as_ref()).map(|tool| tool.as_str());
        let name = canonical.unwrap_or(&call.name);
        let declared = self.declared.and_then(|declared| declared.names.wire(name));
        declared.map_or_else(|| wire_names::wire_name(format, name).into_owned(), str::to_owned)
    }

    /// Renders a turn for a model without function calling: calls and results are text.
    fn text_turn(&mut self, message: &'a ModelMessage) {
        let turn = &message.turn;
        if turn.calls.is_empty() {
            return self.said(&turn.text);
        }
        if turn.format == Format::Text {
            let words = text_field(&turn.assistant, "content").unwrap_or(&turn.text);
            self.steps.push(RenderedMessage::ModelText(words.into()));
            self.text_results(results(turn, message.answers(), false));
        } else {
            let calls = self.calls(0, message);
            let pairs = calls.iter().map(|call| (call.name.as_str(), &call.args));
            let words = text_tools::message_text(&turn.text, pairs);
            self.steps.push(RenderedMessage::ModelText(words.into()));
            let stand_in = placeholder_turn(Format::Text, &calls);
            self.text_results(results(&stand_in, message.answers(), false));
        }
    }

    fn text_results(&mut self, results: Vec<Value>) {
        for mut result in results {
            if let Some(Value::String(text)) = result.get_mut("content").map(Value::take) {
                let kind = UserKind::default();
                self.steps.push(RenderedMessage::User { text: text.into(), images: &[], kind });
            }
        }
    }
}

/// Creates a turn with only these calls, for rendering their results.
fn placeholder_turn(format: Format, calls: &[RebuiltCall]) -> Turn {
    let has_ids = !matches!(format, Format::Gemini | Format::Text);
    let call = |call: &RebuiltCall| ModelCall {
        provider_id: has_ids.then(|| call.id.clone()),
        name: call.name.clone(),
        args: RawArgs::Text(String::new()),
        extra: Extra::default(),
    };
    Turn {
        format,
        calls: calls.iter().map(call).collect(),
        hosted: Vec::new(),
        text: String::new(),
        reasoning: String::new(),
        usage: None,
        stop: Stop::Calls,
        assistant: Value::Null,
        complete: true,
        notes: Vec::new(),
    }
}

fn results(turn: &Turn, answers: &[Option<CallAnswer>], ollama: bool) -> Vec<Value> {
    let replies: Vec<ResultEntry<'_>> = answers
        .iter()
        .enumerate()
        .filter_map(|(call, a)| Some(ResultEntry { call, answer: CallResult::Kept(a.as_ref()?) }))
        .collect();
    if ollama { ollama_result_messages(turn, &replies) } else { result_messages(turn, &replies) }
}

/// Returns whether a turn is sent back unchanged: this provider produced it in this format, and
/// accepts it again.
pub(super) fn is_own(info: &ModelInfo, dialect: &Dialect, message: &ModelMessage) -> bool {
    let turn = &message.turn;
    turn.complete
        && !dialect.text_tools
        && turn.format == dialect.format
        && message.provider == info.provider
        // A model may invent a name that its own provider rejects in a request.
        && turn.calls.iter().all(|call| wire_names::is_valid(turn.format, &call.name))
        && match dialect.format {
            Format::OpenAiChat => has_args_of(&turn.assistant, dialect.quirks.ollama),
            Format::Anthropic => hosted_are_answered(turn),
            Format::Gemini => message.model == info.model || is_signed(turn),
            Format::OpenAiResponses | Format::Text => true,
        }
}

/// Returns whether the arguments have the required form: Ollama's native API accepts only objects,
/// all others only text.
fn has_args_of(assistant: &Value, ollama: bool) -> bool {
    let calls = assistant.get("tool_calls").and_then(Value::as_array);
    calls.into_iter().flatten().all(|call| {
        let args = call.get("function").and_then(|f| f.get("arguments"));
        args.is_none_or(|args| if ollama { args.is_object() } else { args.is_string() })
    }) && !(ollama && assistant.get("function_call").is_some())
}

/// Returns whether every hosted call of Anthropic has its result, which is required unless the turn
/// is paused.
fn hosted_are_answered(turn: &Turn) -> bool {
    let blocks = turn.assistant.get("content").and_then(Value::as_array);
    let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
    turn.stop == Stop::Paused
        || turn.hosted.iter().all(|call| {
            let id = call.id.as_deref();
            id.is_some() && blocks.iter().any(|block| text_field(block, "tool_use_id") == id)
        })
}

/// Returns whether the first call is signed: newer Gemini models reject a turn whose first call has
/// no signature; older ones produce none.
fn is_signed(turn: &Turn) -> bool {
    turn.calls.first().is_none_or(|call| call.extra.thought_signature.is_some())
}
