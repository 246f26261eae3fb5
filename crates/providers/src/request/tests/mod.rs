//! Tests of request bodies: golden JSON per provider, and invariants.

mod foreign_turns;
mod golden;
mod invariants;
mod reasoning;
mod repeated_turns;

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{Blob, Block, CallId, OutcomeKind, ToolName};

use super::render_body;
use crate::conversation::{CallAnswer, Message, ModelMessage, UserKind, UserMessage};
use crate::model::{ModelInfo, ModelRequest};
use crate::model_turn::Turn;
use crate::parse_response::parse;
use crate::quirks::Dialect;
use crate::tool_declarations::Declarations;
use crate::wire_format::Format;
use crate::wire_names::NameMap;

pub(super) fn info(format: Format) -> ModelInfo {
    ModelInfo {
        provider: "here".into(),
        model: "m-1".into(),
        format,
        scripted: false,
        on_device: false,
        requested_window: None,
    }
}

pub(super) fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: None,
        temperature: None,
        max_output: None,
        stream: true,
    }
}

/// Two tools, declared as the given value.
pub(super) fn declared(format: Format, value: Value) -> Option<Arc<Declarations>> {
    let names = NameMap::new(format, ["look", "files__read_all"]);
    Some(Arc::new(Declarations { value, warnings: vec![], names }))
}

pub(super) fn body(dialect: &Dialect, request: &ModelRequest) -> Value {
    let info = info(dialect.format);
    let requested_window = dialect.quirks.requested_window(&info.model, None);
    let info = ModelInfo { requested_window, ..info };
    let bytes = render_body(&info, dialect, request);
    assert_eq!(bytes, render_body(&info, dialect, request), "always the same bytes");
    serde_json::from_slice(&bytes).unwrap()
}

pub(super) fn user(text: &str) -> Message {
    Message::User(UserMessage { text: text.into(), ..UserMessage::default() })
}

pub(super) fn queued(text: &str) -> Message {
    let kind = UserKind::Queued;
    Message::User(UserMessage { text: text.into(), images: vec![], kind })
}

pub(super) fn png() -> Blob {
    Blob { media_type: "image/png".into(), data: b"abc".to_vec() }
}

pub(super) fn user_with(text: &str, images: Vec<Blob>) -> Message {
    Message::User(UserMessage { text: text.into(), images, kind: UserKind::Typed })
}

pub(super) fn turn(format: Format, body: &Value) -> Turn {
    let bytes = match body {
        Value::String(text) if format == Format::Text => text.clone().into_bytes(),
        _ => body.to_string().into_bytes(),
    };
    parse(format, &bytes).unwrap_or_else(|e| panic!("{format}: {e}: {body}"))
}

pub(super) fn model(turn: Turn, provider: &str, answers: Vec<CallAnswer>) -> Message {
    let mut message = ModelMessage::new(turn, provider, "m-1");
    for (at, answer) in answers.into_iter().enumerate() {
        assert!(message.answer(at, answer), "the turn has a call {at}");
    }
    Message::Model(Box::new(message))
}

pub(super) fn success(tool: &str, result: &str, media: Vec<Block>) -> CallAnswer {
    CallAnswer {
        call: CallId::fresh(),
        tool: Some(ToolName::remote(tool).or_else(|_| ToolName::local(tool)).unwrap()),
        kind: Some(OutcomeKind::Succeeded),
        wire: json!({"status": "success", "result": result}),
        is_error: false,
        elapsed_ms: None,
        media,
        for_people: vec![],
        reason: None,
    }
}

pub(super) fn failure(tool: &str) -> CallAnswer {
    CallAnswer {
        kind: Some(OutcomeKind::Failed),
        wire: json!({"status": "error", "error_type": "execution_error", "message": "no"}),
        is_error: true,
        elapsed_ms: None,
        ..success(tool, "", vec![])
    }
}

/// The model's text at the end.
pub(super) fn said(format: Format, text: &str) -> Message {
    let body = match format {
        Format::OpenAiChat => json!({"role": "assistant", "content": text}),
        Format::OpenAiResponses => json!({"output": [
            {"type": "message", "id": "msg_9", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text}]},
        ]}),
        Format::Anthropic => {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}], "type": "message"})
        }
        Format::Gemini => {
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]})
        }
        Format::Text => json!(text),
    };
    model(turn(format, &body), "here", vec![])
}

/// One rich conversation around a turn with two calls: an image, a result with an image, a failure,
/// a queued message, a final text.
pub(super) fn rich(format: Format, two_calls: &Value) -> Vec<Message> {
    let answers =
        vec![success("look", "a cat", vec![Block::Image(png())]), failure("files__read_all")];
    vec![
        user_with("What is this?", vec![png()]),
        model(turn(format, two_calls), "here", answers),
        queued("Hurry."),
        said(format, "A cat."),
        user("Thanks."),
    ]
}

pub(super) const R0: &str = r#"{"status":"success","result":"a cat"}"#;
pub(super) const R1: &str = r#"{"status":"error","error_type":"execution_error","message":"no"}"#;
