//! What a program wrote to standard output, as a result.
//!
//! - `{"text": …, "html": …, "error": …}` with no other keys: the text is for the model, the HTML is a card for people that no model
//!   sees, and an error makes the result a failure and the other two are dropped.
//! - `{"content": [{"type": "text", "text": …}, {"type": "image", "mime_type": …, "data": BASE64}, …]}`: parts in order; `text`, `html`,
//!   `image`, `audio`; `mimeType` is read too, and `isError` or `is_error` beside them.
//! - any other JSON object or array: data.
//! - anything else: text, of the media type that the definition's `output` names.
//!
//! With `output = "raw"` it is text, whatever it looks like: for tools that pass on what others wrote.
#![deny(clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::{Map, Value};
use toolcrib_core::{Blob, Block, ToolOutput};
use toolcrib_sandbox::process::Captured;

use super::Fault;
use super::keys::hint;

/// What `output` of a definition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of the forms above, or text of this media type.
    Any { media_type: String },
    /// JSON and nothing else.
    Json,
    /// Text, whatever it looks like.
    Raw,
}

impl Kind {
    /// `text` (the default), `markdown`, `json`, `raw`, or a media type such as `text/csv`.
    pub(super) fn of(output: Option<String>) -> Result<Self, Fault> {
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
                return Err(Fault::new(format!("key \"output\": {other:?} is unknown{hint}")));
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

/// The result of a program that ended well; the error is what is wrong with its answer, as a sentence without its beginning.
pub(super) fn read(kind: &Kind, stdout: &Captured) -> Result<ToolOutput, String> {
    let text = stdout.text();
    let looks_like_data = text.trim_start().starts_with(['{', '[']);
    if *kind == Kind::Raw || !(looks_like_data || *kind == Kind::Json) {
        return Ok(plain(&text, kind));
    }
    if stdout.is_cut() {
        return Err(format!("{} bytes of JSON are more than what is read", stdout.total));
    }
    match serde_json::from_str(text.trim()) {
        Ok(Value::Object(map)) if is_said(&map) => Ok(said(map, kind)),
        Ok(Value::Object(map)) if is_parts(&map) => parts(map),
        Ok(data @ (Value::Object(_) | Value::Array(_))) => Ok(ToolOutput::structured(data)),
        Ok(data) if *kind == Kind::Json => Ok(ToolOutput::structured(data)),
        Err(error) if *kind == Kind::Json => {
            Err(format!("it promises JSON and this is none: {error}"))
        }
        Ok(_) | Err(_) => Ok(plain(&text, kind)),
    }
}

/// Text without the line end that every program leaves.
fn plain(text: &str, kind: &Kind) -> ToolOutput {
    let text = text.strip_suffix('\n').unwrap_or(text);
    ToolOutput::typed(text.strip_suffix('\r').unwrap_or(text), kind.media_type())
}

/// Whether this is `{"text", "html", "error"}` with something in it, rather than data that happens to have such a key.
fn is_said(map: &Map<String, Value>) -> bool {
    map.iter().all(|(key, value)| {
        matches!(key.as_str(), "text" | "html" | "error") && (value.is_string() || value.is_null())
    }) && map.values().any(Value::is_string)
}

fn said(mut map: Map<String, Value>, kind: &Kind) -> ToolOutput {
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
        Kind::Any { media_type } => media_type.as_str(),
        Kind::Json | Kind::Raw => "text/plain",
    };
    match take("text") {
        Some(text) => content.push(Block::Text { text, media_type: media_type.to_owned() }),
        // A model that reads nothing would take it for a failure.
        None => content.push(Block::text("The result is shown to the user as a card.")),
    }
    content.extend(html.map(|html| Block::Html { html }));
    ToolOutput::of(content)
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
    Ok(ToolOutput { is_error, ..ToolOutput::of(content) })
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

/// Base64, with or without padding, and with the line breaks that some programs put into it.
fn bytes(data: &str) -> Result<Vec<u8>, String> {
    let dense: String = data.split_ascii_whitespace().collect();
    let decoded = STANDARD.decode(&dense).or_else(|_| STANDARD_NO_PAD.decode(&dense));
    decoded.map_err(|_| "has no base64 in the key \"data\"".to_owned())
}
