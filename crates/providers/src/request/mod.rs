//! A conversation to the body of a request.
//!
//! Two steps. `history` decides how each message is told: as the model's own words, exactly as they came, or rebuilt in the words of this
//! format. One file per format then only renders. Kept values are written straight from where they are kept, never copied first.

mod anthropic;
mod body;
mod chat;
mod gemini;
mod history;
mod ollama;
mod responses;
#[cfg(test)]
mod tests;

use crate::chat::Message;
use crate::format::Format;
use crate::model::{ModelInfo, ModelRequest};
use crate::quirks::Dialect;

pub use anthropic::DEFAULT_MAX_TOKENS;

/// The body of a request, as JSON. The same request always gives the same bytes.
///
/// Whatever the conversation holds, the provider takes the body: every call has exactly one result directly after it (a call without an answer
/// is answered as not run), empty messages are left out, and what another provider or model said is rebuilt in this format. Gemini has the
/// model's name and whether it streams in the address, not in the body.
#[must_use]
pub fn write(info: &ModelInfo, dialect: &Dialect, request: &ModelRequest) -> Vec<u8> {
    let steps = history::steps(info, dialect, request);
    let system = system(dialect, request);
    let asked = body::Asked {
        info,
        quirks: &dialect.quirks,
        request,
        system: &system,
        tools: tools(dialect, request),
    };
    let mut body = match dialect.format {
        Format::OpenAiResponses => responses::body(&asked, &steps),
        Format::Anthropic => anthropic::body(&asked, &steps),
        Format::Gemini => gemini::body(&asked, &steps),
        Format::OpenAiChat | Format::Text if dialect.quirks.ollama => ollama::body(&asked, &steps),
        Format::OpenAiChat | Format::Text => chat::body(&asked, &steps),
    };
    body.add(&dialect.quirks.extra);
    if dialect.format == Format::Anthropic {
        anthropic::check_thinking(&asked, &mut body, &steps);
    }
    body.to_bytes()
}

/// Whether a turn goes back to this provider as it came; for who wants to say how a history will be read.
#[must_use]
pub fn is_own(info: &ModelInfo, dialect: &Dialect, message: &Message) -> bool {
    match message {
        Message::User(_) => true,
        Message::Model(message) => history::is_own(info, dialect, message),
    }
}

/// The declared tools, where the format has a place for them.
fn tools<'a>(dialect: &Dialect, request: &'a ModelRequest) -> Option<&'a serde_json::Value> {
    let declared = request.tools.as_ref().filter(|_| !dialect.text_tools)?;
    Some(&declared.value).filter(|value| !value.is_null())
}

/// The system prompt, with the tools behind it when they are declared as text.
fn system(dialect: &Dialect, request: &ModelRequest) -> String {
    let declared = request.tools.as_ref().filter(|_| dialect.text_tools);
    let prompt = declared.and_then(|tools| tools.value.as_str()).unwrap_or_default();
    let parts = [request.system.as_str(), prompt];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
    parts.join("\n\n")
}
