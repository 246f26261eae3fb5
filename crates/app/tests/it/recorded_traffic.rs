//! Recorded traffic of every provider, and the format of each provider id.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toolcrib_providers::Format;
use toolcrib_testkit::provider_recordings::{Response, Suite, Tools};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traffic")
}

/// Returns every suite, by file name.
pub(crate) fn suites() -> Vec<Suite> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let files = paths.iter().filter(|path| !path.ends_with("tools.yaml"));
    files.map(|path| Suite::read(path).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// Returns the tools that the scenarios offer.
pub(crate) fn tools() -> Tools {
    Tools::read(&folder().join("tools.yaml")).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the format of a provider's answers.
pub(crate) fn format_of(provider: &str) -> Format {
    match provider {
        "openai-responses" => Format::OpenAiResponses,
        "anthropic" => Format::Anthropic,
        "gemini" => Format::Gemini,
        "openai-chat" | "ollama" | "deepseek" | "openai-compatible" => Format::OpenAiChat,
        other => panic!("no provider is called {other}"),
    }
}

/// Returns the length of a body after which one of its calls may run: the end of the event that
/// ends the answer.
pub(crate) fn whole_at(format: Format, response: &Response) -> usize {
    let last = response.events.iter().find(|event| is_last(format, &event.data));
    // The closing bracket of an array of chunks carries no information.
    let closed = || response.body.iter().rposition(|byte| *byte == b'}').map_or(0, |at| at + 1);
    last.map_or_else(closed, |event| event.end)
}

fn is_last(format: Format, data: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(data) else { return data == "[DONE]" };
    let kind = event["type"].as_str().unwrap_or_default();
    match format {
        Format::OpenAiChat => {
            event["done"] == true
                || event["choices"][0]["finish_reason"].as_str().is_some_and(|r| !r.is_empty())
        }
        Format::OpenAiResponses => matches!(
            kind,
            "response.completed" | "response.incomplete" | "response.failed" | "error"
        ),
        Format::Anthropic => kind == "message_stop",
        Format::Gemini => {
            !event["candidates"][0]["finishReason"].is_null()
                || !event["promptFeedback"]["blockReason"].is_null()
        }
        Format::Text => false,
    }
}
