//! Renders a conversation into the body of a request.
//!
//! Two steps: `render_history` decides for each message whether it is sent unchanged or rebuilt in
//! this format; one file per format then only renders. Stored values are serialized in place, never
//! copied first.

mod anthropic;
mod gemini;
mod json_body;
mod ollama;
mod openai_chat;
mod openai_responses;
mod render_history;
#[cfg(test)]
mod tests;

use crate::conversation::Message;
use crate::model::{ModelInfo, ModelRequest};
use crate::quirks::Dialect;
use crate::wire_format::Format;

pub use anthropic::DEFAULT_MAX_TOKENS;

/// Renders the body of a request as JSON. The same request always gives the same bytes.
///
/// The provider accepts the body regardless of the conversation's content: every call has exactly
/// one result directly after it (a call without a result is reported as not run), empty messages
/// are omitted, and turns of another provider or model are rebuilt in this format. Gemini has the
/// model's name and the streaming flag in the URL, not in the body.
#[must_use]
pub fn render_body(info: &ModelInfo, dialect: &Dialect, request: &ModelRequest) -> Vec<u8> {
    let steps = render_history::render_history(info, dialect, request);
    let system = system(dialect, request);
    let asked = json_body::RequestInput {
        info,
        quirks: &dialect.quirks,
        request,
        system: &system,
        tools: tools(dialect, request),
    };
    let mut body = match dialect.format {
        Format::OpenAiResponses => openai_responses::body(&asked, &steps),
        Format::Anthropic => anthropic::body(&asked, &steps),
        Format::Gemini => gemini::body(&asked, &steps),
        Format::OpenAiChat | Format::Text if dialect.quirks.ollama => ollama::body(&asked, &steps),
        Format::OpenAiChat | Format::Text => openai_chat::body(&asked, &steps),
    };
    body.add(&dialect.quirks.extra);
    if dialect.format == Format::Anthropic {
        anthropic::check_thinking(&asked, &mut body, &steps);
    }
    body.to_bytes()
}

/// Returns whether a turn is sent back to this provider unchanged. Lets a caller predict how a
/// history will be rendered.
#[must_use]
pub fn is_own(info: &ModelInfo, dialect: &Dialect, message: &Message) -> bool {
    match message {
        Message::User(_) => true,
        Message::Model(message) => render_history::is_own(info, dialect, message),
    }
}

/// Returns the declared tools, if the format has a member for them.
fn tools<'a>(dialect: &Dialect, request: &'a ModelRequest) -> Option<&'a serde_json::Value> {
    let declared = request.tools.as_ref().filter(|_| !dialect.text_tools)?;
    Some(&declared.value).filter(|value| !value.is_null())
}

/// Returns the system prompt, followed by the tools if they are declared as text.
fn system(dialect: &Dialect, request: &ModelRequest) -> String {
    let declared = request.tools.as_ref().filter(|_| dialect.text_tools);
    let prompt = declared.and_then(|tools| tools.value.as_str()).unwrap_or_default();
    let parts = [request.system.as_str(), prompt];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
    parts.join("\n\n")
}
