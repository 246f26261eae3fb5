//! Token estimates: four characters per token, for every model. The exact count comes later, from
//! the provider.
//!
//! Nothing is serialized to be measured: JSON is walked, and [`MessageSizes`] caches the results.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{Block, Entry, RawArgs, ToolSpec};
use toolcrib_providers::Declarations;
use toolcrib_providers::conversation::{CallAnswer, Message, ModelMessage, UserMessage};

/// Characters per token (ai.google.dev/gemini-api/docs/tokens gives the same number for Gemini).
const CHARS: u64 = 4;

/// Tokens of an image or audio of any size. Providers count 1,100 (Gemini) to 4,300 (OpenAI) for a
/// screenshot of 2560 x 1440; Anthropic about 3,000
/// (platform.claude.com/docs/en/build-with-claude/vision).
pub const IMAGE_TOKENS: u64 = 3_000;

/// Tokens of a message besides its content: role and separators.
const PER_MESSAGE: u64 = 4;

/// Tokens of a result besides its text: id, name, separators.
const PER_RESULT: u64 = 12;

/// Characters of a declared tool besides its name, its description and its schema.
const PER_TOOL: u64 = 80;

/// Tokens of the text in place of a missing result.
const NOT_RUN: u64 = 20;

/// A text of at least this many characters that contains only base64 is an image, a signature or
/// encrypted: providers do not count its characters.
const OPAQUE_CHARS: usize = 4_000;

/// Returns the estimated tokens of a text.
#[must_use]
pub fn estimate_text(text: &str) -> u64 {
    tokens_of(count(text))
}

/// Returns the estimated tokens of a message as it is sent, with the results of its calls.
#[must_use]
pub fn estimate_message(message: &Message) -> u64 {
    match message {
        Message::User(message) => user(message),
        Message::Model(message) => model(message),
    }
}

/// Returns the estimated tokens of the declared tools.
#[must_use]
pub fn estimate_declarations(declarations: &Declarations) -> u64 {
    match &declarations.value {
        Value::Null => 0,
        Value::String(prompt) => estimate_text(prompt),
        value => tokens_of(json(value)),
    }
}

/// Returns the estimated tokens of one tool in a request to this provider.
#[must_use]
pub fn estimate_tool(entry: &Entry, provider: &str) -> u64 {
    match entry.providers() {
        [] => estimate_spec(entry.spec()),
        own => {
            let declared = own.iter().find(|own| own.provider == provider);
            declared.map_or(0, |own| tokens_of(json(&own.declaration)))
        }
    }
}

/// Returns the estimated tokens of a tool with this definition, declared to a provider without
/// special knowledge of it.
#[must_use]
pub fn estimate_spec(spec: &ToolSpec) -> u64 {
    let words = count(spec.name.as_str()) + count(&spec.description);
    tokens_of(PER_TOOL + words + json(&spec.input_schema))
}

pub(super) fn user(message: &UserMessage) -> u64 {
    PER_MESSAGE + estimate_text(&message.text) + IMAGE_TOKENS * as_u64(message.images.len())
}

pub(super) fn model(message: &ModelMessage) -> u64 {
    let answers: u64 =
        message.answers().iter().map(|slot| slot.as_ref().map_or(NOT_RUN, answer)).sum();
    PER_MESSAGE + tokens_of(said(message)) + answers
}

/// Returns the estimated tokens of one result.
pub(super) fn answer(answer: &CallAnswer) -> u64 {
    let shown = answer.media.iter().filter(|b| matches!(b, Block::Image(_) | Block::Audio(_)));
    PER_RESULT + tokens_of(json(&answer.wire)) + IMAGE_TOKENS * as_u64(shown.count())
}

/// Returns the number of characters of a message from the model, including calls: of the replayed
/// turn if it is stored, otherwise of its parts.
fn said(message: &ModelMessage) -> u64 {
    let turn = &message.turn;
    if !turn.assistant.is_null() {
        return repeated(&turn.assistant);
    }
    let calls = turn.calls.iter().map(|call| {
        count(&call.name)
            + match &call.args {
                RawArgs::Text(text) | RawArgs::Broken(text) | RawArgs::Sealed(text) => count(text),
                RawArgs::Value(value) => json(value),
            }
    });
    count(&turn.text) + calls.sum::<u64>()
}

/// Returns the number of characters of a JSON value's compact text.
pub(super) fn json(value: &Value) -> u64 {
    walk(value, &quoted)
}

/// Returns the same, except that texts that no tokenizer reads count as an image.
fn repeated(value: &Value) -> u64 {
    walk(value, &|text| if is_opaque(text) { IMAGE_TOKENS * CHARS } else { quoted(text) })
}

fn walk(value: &Value, string: &impl Fn(&str) -> u64) -> u64 {
    // Brackets and commas: one more than there are members, or two.
    let list = |members: usize| as_u64(members.max(1)) + 1;
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => {
            let mut length = Length(0);
            // A counter cannot fail.
            let _ = write!(length, "{number}");
            length.0
        }
        Value::String(text) => string(text),
        Value::Array(items) => {
            list(items.len()) + items.iter().map(|item| walk(item, string)).sum::<u64>()
        }
        Value::Object(members) => {
            let each = members.iter().map(|(key, item)| quoted(key) + 1 + walk(item, string));
            list(members.len()) + each.sum::<u64>()
        }
    }
}

/// Returns the number of characters of a text as a JSON string.
fn quoted(text: &str) -> u64 {
    let escaped = text.bytes().filter(|b| matches!(b, b'"' | b'\\' | 0..0x20)).count();
    2 + count(text) + as_u64(escaped)
}

fn is_opaque(text: &str) -> bool {
    text.as_bytes().get(..OPAQUE_CHARS).is_some_and(|start| {
        start.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_'))
    })
}

struct Length(u64);

impl fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += as_u64(text.len());
        Ok(())
    }
}

fn count(text: &str) -> u64 {
    as_u64(text.chars().count())
}

fn tokens_of(chars: u64) -> u64 {
    chars.div_ceil(CHARS)
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Returns the number of characters for this number of tokens.
pub(super) fn chars(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(CHARS)).unwrap_or(usize::MAX)
}

/// The estimates of a history, updated as it grows. A history only grows, and only its newest
/// message may still change (its calls receive results): it is measured each time, all others once.
#[derive(Debug, Clone, Default)]
pub struct MessageSizes {
    /// Address of each message, to detect a different history, and its tokens.
    measured: Vec<(usize, u64)>,
}

impl MessageSizes {
    /// Creates the estimates of a whole history.
    #[must_use]
    pub fn new(history: &[Arc<Message>]) -> Self {
        let mut sizes = Self::default();
        sizes.update(history);
        sizes
    }

    /// Measures the messages since the last update, and the one that was newest then.
    pub fn update(&mut self, history: &[Arc<Message>]) {
        self.measured.pop();
        let same = self
            .measured
            .iter()
            .zip(history)
            .take_while(|((address, _), message)| *address == address_of(message))
            .count();
        self.measured.truncate(same);
        let new = history.iter().skip(same);
        self.measured.extend(new.map(|message| (address_of(message), estimate_message(message))));
    }

    /// Returns the tokens of the message at this index; 0 beyond the end.
    #[must_use]
    pub fn size(&self, place: usize) -> u64 {
        self.measured.get(place).map_or(0, |(_, tokens)| *tokens)
    }

    /// Returns the tokens of all messages from this index on.
    #[must_use]
    pub fn size_from(&self, place: usize) -> u64 {
        self.measured.iter().skip(place).map(|(_, tokens)| tokens).sum()
    }
}

fn address_of(message: &Arc<Message>) -> usize {
    Arc::as_ptr(message).addr()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_core::{Blob, CallId};
    use toolcrib_providers::conversation::UserKind;
    use toolcrib_providers::{Format, parse};

    use super::*;

    fn typed(text: &str) -> Message {
        Message::User(UserMessage { text: text.into(), images: vec![], kind: UserKind::Typed })
    }

    fn called(answers: &[&str]) -> ModelMessage {
        let calls: Vec<Value> = (0..answers.len().max(1))
            .map(|n| json!({"id": format!("c{n}"), "type": "function", "function": {"name": "read", "arguments": "{}"}}))
            .collect();
        let body = json!({"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": calls}}]});
        let turn = parse(Format::OpenAiChat, body.to_string().as_bytes()).unwrap();
        let mut message = ModelMessage::new(turn, "p", "m");
        for (at, text) in answers.iter().enumerate() {
            let answer = CallAnswer {
                wire: json!({"status": "success", "result": text}),
                is_error: false,
                elapsed_ms: None,
                ..CallAnswer::not_run(CallId::fresh(), "")
            };
            assert!(message.answer(at, answer));
        }
        message
    }

    #[test]
    fn four_characters_are_a_token() {
        for (words, expected) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éüößé", 2)] {
            assert_eq!(estimate_text(words), expected, "{words}");
        }
        assert_eq!(estimate_message(&typed("abcde")), PER_MESSAGE + 2);
        let image = Blob { media_type: "image/png".into(), data: vec![0; 9] };
        let message = UserMessage { images: vec![image.clone(), image], ..UserMessage::default() };
        assert_eq!(estimate_message(&Message::User(message)), PER_MESSAGE + 2 * IMAGE_TOKENS);
    }

    #[test]
    fn json_is_measured_as_its_text() {
        for value in [
            json!(null),
            json!(true),
            json!(false),
            json!(-12.5e3),
            json!(u64::MAX),
            json!("tab\tquote\"é\n"),
            json!([]),
            json!({}),
            json!([1, "two", {"three": [null]}]),
            json!({"a": {"b": ["c", 4.25]}, "é": ""}),
        ] {
            assert_eq!(json(&value), count(&value.to_string()), "{value}");
        }
    }

    #[test]
    fn results_count_with_their_message() {
        let open = estimate_message(&Message::Model(Box::new(called(&[]))));
        let short = estimate_message(&Message::Model(Box::new(called(&["x"]))));
        let long = estimate_message(&Message::Model(Box::new(called(&[&"x".repeat(4_001)]))));
        assert_eq!(long - short, 1_000);
        assert!(open > NOT_RUN + PER_MESSAGE);
    }

    #[test]
    fn signatures_and_pictures_do_not_count_by_their_characters() {
        let mut message = called(&["x"]);
        let before = model(&message);
        message.turn.assistant["signature"] = json!("QUJD".repeat(100_000));
        let with = model(&message);
        assert!(with - before < IMAGE_TOKENS + 10, "{}", with - before);
        message.turn.assistant["signature"] = json!("word ".repeat(80_000));
        assert!(model(&message) - before > 90_000);
    }

    #[test]
    fn what_was_measured_is_not_measured_again() {
        let mut history =
            vec![Arc::new(typed("hello")), Arc::new(Message::Model(Box::new(called(&[]))))];
        let mut sizes = MessageSizes::new(&history);
        let open = sizes.size(1);
        // The newest message is answered in place, and another one follows.
        *Arc::make_mut(&mut history[1]) =
            Message::Model(Box::new(called(&["a much longer answer"])));
        history.push(Arc::new(typed("more")));
        sizes.update(&history);
        assert!(sizes.size(1) > open);
        assert_eq!(sizes.size(2), estimate_message(&history[2]));
        assert_eq!(sizes.size_from(1), sizes.size(1) + sizes.size(2));
        assert_eq!(sizes.size(9), 0);
        // A different history.
        let other = vec![Arc::new(typed("a")), Arc::new(typed("b"))];
        sizes.update(&other);
        assert_eq!(sizes.size_from(0), other.iter().map(|m| estimate_message(m)).sum::<u64>());
        sizes.update(&[]);
        assert_eq!(sizes.size_from(0), 0);
    }
}
