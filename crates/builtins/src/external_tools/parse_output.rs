//! Parses the standard output of an external tool into a result. Forms:
//!
//! - `{"text": …, "html": …, "error": …}` with no other keys: the text is for the model, the HTML
//!   is a card for people that no model sees. An error makes the result a failure and drops the
//!   other two; `"transient": true` beside it says that another attempt can succeed.
//! - `{"content": [PART, …]}`, parts in order: `{"type": "text", "text": …}`, `html` likewise,
//!   `{"type": "image", "mime_type": …, "data": BASE64}`, `audio` likewise. `mimeType` is accepted
//!   too, as is `isError` or `is_error` beside the parts.
//! - any other JSON object or array: data.
//! - anything else: text, of the media type that the definition's `output` names.
//!
//! With `output = "raw"` everything is text, for tools that forward output of others.
#![deny(clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::{Map, Value};
use toolcrib_core::{Blob, Block, ToolOutput};
use toolcrib_sandbox::process::Captured;

use super::DefinitionError;
use super::toml_keys::hint;

/// The value of `output` in a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutputKind {
    /// Any of the forms above; plain text gets this media type.
    Any { media_type: String },
    /// JSON only.
    Json,
    /// Text, regardless of its form.
    Raw,
}

impl OutputKind {
    /// Parses `text` (the default), `markdown`, `json`, `raw`, or a media type such as `text/csv`.
    pub(super) fn from_manifest(output: Option<String>) -> Result<Self, DefinitionError> {
        let any = |media_type: &str| Self::Any { media_type: media_type.to_owned() };
        Ok(match output.as_deref().unwrap_or("text") {
            "text" => any("text/plain"),
            "markdown" => any("text/markdown"),
            "json" | "application/json" => Self::Json,
            "raw" => Self::Raw,
            other if is_media_type(other) => any(other),
            other => {
                let words = ["text", "markdown", "json", "raw", "a media type such as text/csv"];
                let hint = hint(other, &words);
                return Err(DefinitionError::new(format!(
                    "key \"output\": {other:?} is unknown{hint}"
                )));
            }
        })
    }

    fn media_type(&self) -> &str {
        match self {
            Self::Any { media_type } => media_type,
            Self::Json => "application/json",
            Self::Raw => "text/plain",
        }
    }
}

fn is_media_type(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+._".contains(&b))
    };
    text.split_once('/').is_some_and(|(kind, sub)| is_part(kind) && is_part(sub))
}

/// The answer of a program.
#[derive(Debug, PartialEq)]
pub(super) enum ProgramAnswer {
    /// A result, or a reported permanent failure.
    Output(ToolOutput),
    /// A temporary failure: another attempt may succeed.
    Transient(String),
}

/// Parses the output of a program that exited with 0. The error is the end of a sentence.
pub(super) fn parse(kind: &OutputKind, stdout: &Captured) -> Result<ProgramAnswer, String> {
    if *kind != OutputKind::Raw
        && !stdout.is_cut()
        && let Some(error) = transient_error(&stdout.text())
    {
        return Ok(ProgramAnswer::Transient(error));
    }
    parse_result(kind, stdout).map(ProgramAnswer::Output)
}

/// Returns the error of `{"error": …, "transient": true}`.
fn transient_error(text: &str) -> Option<String> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let map: Map<String, Value> = serde_json::from_str(text).ok()?;
    let is_envelope =
        map.keys().all(|key| matches!(key.as_str(), "text" | "html" | "error" | "transient"));
    let is_transient = map.get("transient") == Some(&Value::Bool(true));
    map.get("error")?.as_str().filter(|_| is_envelope && is_transient).map(str::to_owned)
}

fn parse_result(kind: &OutputKind, stdout: &Captured) -> Result<ToolOutput, String> {
    let text = stdout.text();
    let looks_like_data = text.trim_start().starts_with(['{', '[']);
    if *kind == OutputKind::Raw || !(looks_like_data || *kind == OutputKind::Json) {
        return Ok(plain(&text, kind));
    }
    if stdout.is_cut() {
        return Err(format!("{} bytes of JSON are more than what is read", stdout.total));
    }
    match serde_json::from_str(text.trim()) {
        Ok(Value::Object(map)) if is_envelope(&map) => Ok(parse_envelope(map, kind)),
        Ok(Value::Object(map)) if is_parts(&map) => parts(map),
        Ok(data @ (Value::Object(_) | Value::Array(_))) => Ok(ToolOutput::structured(data)),
        Ok(data) if *kind == OutputKind::Json => Ok(ToolOutput::structured(data)),
        Err(error) if *kind == OutputKind::Json => {
            Err(format!("it promises JSON and this is none: {error}"))
        }
        Ok(_) | Err(_) => Ok(plain(&text, kind)),
    }
}

/// Returns the text without the final line end.
fn plain(text: &str, kind: &OutputKind) -> ToolOutput {
    let text = text.strip_suffix('\n').unwrap_or(text);
    ToolOutput::text_with_type(text.strip_suffix('\r').unwrap_or(text), kind.media_type())
}

/// Returns whether the object is `{"text", "html", "error"}` with at least one of them set, not
/// data that has such a key.
fn is_envelope(map: &Map<String, Value>) -> bool {
    map.iter().all(|(key, value)| match key.as_str() {
        "text" | "html" | "error" => value.is_string() || value.is_null(),
        "transient" => value.is_boolean(),
        _ => false,
    }) && map.values().any(Value::is_string)
}

fn parse_envelope(mut map: Map<String, Value>, kind: &OutputKind) -> ToolOutput {
    let mut take = |key| match map.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    if let Some(error) = take("error") {
        return ToolOutput { is_error: true, ..ToolOutput::text(error) };
    }
    let mut content = Vec::new();
    let html = take("html");
    let media_type = match kind {
        OutputKind::Any { media_type } => media_type.as_str(),
        OutputKind::Json | OutputKind::Raw => "text/plain",
    };
    match take("text") {
        Some(text) => content.push(Block::Text { text, media_type: media_type.to_owned() }),
        // Models interpret an empty result as a failure.
        None => content.push(Block::text("The result is shown to the user as a card.")),
    }
    content.extend(html.map(|html| Block::Html { html }));
    ToolOutput::from_blocks(content)
}

fn is_parts(map: &Map<String, Value>) -> bool {
    map.get("content").is_some_and(|content| {
        content.as_array().is_some_and(|parts| parts.iter().all(|part| part.get("type").is_some()))
    }) && map.keys().all(|key| matches!(key.as_str(), "content" | "isError" | "is_error"))
}

fn parts(map: Map<String, Value>) -> Result<ToolOutput, String> {
    let is_error = ["isError", "is_error"]
        .iter()
        .any(|key| map.get(*key).is_some_and(|value| value == &Value::Bool(true)));
    let parts = map.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let content = parts
        .iter()
        .enumerate()
        .map(|(at, part)| {
            block(part).map_err(|what| format!("part {} of its content {what}", at + 1))
        })
        .collect::<Result<_, _>>()?;
    Ok(ToolOutput { is_error, ..ToolOutput::from_blocks(content) })
}

fn block(part: &Value) -> Result<Block, String> {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    let needed = |key: &str| {
        text(key).map(str::to_owned).ok_or_else(|| format!("has no text in the key \"{key}\""))
    };
    match text("type") {
        Some("text") => Ok(Block::Text {
            text: needed("text")?,
            media_type: media_type(part).unwrap_or("text/plain").to_owned(),
        }),
        Some("html") => Ok(Block::Html { html: needed("html")? }),
        Some(kind @ ("image" | "audio")) => {
            let media_type = media_type(part).unwrap_or_default();
            if !media_type.starts_with(kind) || !is_media_type(media_type) {
                return Err(format!("needs a \"mime_type\" that begins with {kind}/"));
            }
            let blob = Blob { media_type: media_type.to_owned(), data: bytes(&needed("data")?)? };
            Ok(if kind == "image" { Block::Image(blob) } else { Block::Audio(blob) })
        }
        _ => Err("has a \"type\" other than text, html, image, audio".to_owned()),
    }
}

fn media_type(part: &Value) -> Option<&str> {
    part.get("mime_type").or_else(|| part.get("mimeType")).and_then(Value::as_str)
}

/// Decodes base64 with or without padding, and with the line breaks that some programs insert.
fn bytes(data: &str) -> Result<Vec<u8>, String> {
    let dense: String = data.split_ascii_whitespace().collect();
    let decoded = STANDARD.decode(&dense).or_else(|_| STANDARD_NO_PAD.decode(&dense));
    decoded.map_err(|_| "has no base64 in the key \"data\"".to_owned())
}
