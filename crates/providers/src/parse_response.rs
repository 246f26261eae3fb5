//! Parses a response body of any format into a turn.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use crate::call_collector::{MAX_CALLS, UNFINISHED, broken, too_many_calls};
use crate::model_turn::Turn;
use crate::parse_error::{ParseError, provider_error, truncate};
use crate::raw_json;
use crate::sse;
use crate::wire_format::Format;
use crate::{anthropic, detect_format, gemini, openai_chat, openai_responses, text_tools};

/// A parsed JSON text with the text itself.
#[derive(Debug, Clone)]
pub(crate) struct RawValue {
    pub(crate) value: Value,
    pub(crate) text: String,
}

/// The chunks of a streamed answer.
#[derive(Debug, Default)]
pub(crate) struct ParsedStream {
    /// The readable chunks.
    pub(crate) chunks: Vec<RawValue>,
    /// Whether `[DONE]` was received.
    pub(crate) done: bool,
    /// Why a chunk could not be read: no call of the answer may run.
    pub(crate) broken: Option<String>,
}

/// A body by its outer structure.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    /// One JSON text.
    Whole(RawValue),
    /// Several JSON texts: server-sent events, lines of JSON, or an array of chunks.
    Stream(ParsedStream),
    /// Any other text.
    Plain(String),
}

/// Parses the answer of a model: a complete response body, a bare assistant message, or a recorded
/// stream (server-sent events; for Gemini also an array of chunks; for Ollama lines of JSON). An
/// answer without calls is not an error: `calls` is empty then.
///
/// # Errors
/// [`ParseError`] if the body is empty, an HTML page, unreadable, in another format, or a
/// provider's error object. An error after the answer began is not a `ParseError`: the turn is then
/// incomplete, and none of its calls can run.
pub fn parse(format: Format, body: &[u8]) -> Result<Turn, ParseError> {
    let text = check_text(format, body)?;
    if format == Format::Text {
        return parse_text(text);
    }
    let doc = read(format, text)?;
    if let ResponseBody::Plain(plain) = &doc {
        return Err(match detect_format::detect_text(plain) {
            Some(found) => ParseError::OtherFormat { asked: format, found },
            None => not_json(format, plain),
        });
    }
    let parsed = match format {
        Format::OpenAiChat => openai_chat::parse(&doc),
        Format::OpenAiResponses => openai_responses::parse(&doc),
        Format::Anthropic => anthropic::parse(&doc),
        Format::Gemini => gemini::parse(&doc),
        Format::Text => None,
    };
    if let Some(turn) = parsed {
        // A message without calls also parses as Chat Completions; other members determine its
        // format.
        let found = detect_format::detect_document(&doc).filter(|_| turn.calls.is_empty());
        return match (format, found) {
            (Format::OpenAiChat, Some(found @ Format::Anthropic)) => {
                Err(ParseError::OtherFormat { asked: format, found })
            }
            _ => Ok(bounded(turn)),
        };
    }
    Err(unrecognized_error(format, &doc, text))
}

/// Parses the answer of a model without function calling: its text, received in the wire format
/// `format`, contains the calls. Usage, reasoning and stop reason come from the envelope.
pub(crate) fn parse_with_text_tools(format: Format, body: &[u8]) -> Result<Turn, ParseError> {
    let envelope = match format {
        Format::OpenAiChat => {
            let text = check_text(format, body)?;
            let doc = read(format, text)?;
            // Report an unusable body in the same way as for any other answer.
            openai_chat::parse_untagged(&doc).map_or_else(|| parse(format, body), Ok)?
        }
        _ => parse(format, body)?,
    };
    Ok(bounded(text_tools::from_envelope(envelope)))
}

/// Replaces a turn with too many calls by a failure.
fn bounded(mut turn: Turn) -> Turn {
    if turn.calls.len() > MAX_CALLS {
        turn.calls.truncate(MAX_CALLS);
        turn.calls.iter_mut().for_each(|call| call.args = broken(UNFINISHED));
        turn.stop = too_many_calls(MAX_CALLS, &mut turn.notes);
        turn.complete = false;
    }
    turn
}

/// Returns the error for a body that is JSON or a stream, but not a turn.
fn unrecognized_error(format: Format, doc: &ResponseBody, text: &str) -> ParseError {
    let found = detect_format::detect_document(doc).or_else(|| detect_format::detect_text(text));
    if let Some(found) = found.filter(|found| *found != format) {
        return ParseError::OtherFormat { asked: format, found };
    }
    let (first_error, broken) = match doc {
        ResponseBody::Whole(chunk) => (provider_error(&chunk.value), None),
        ResponseBody::Stream(stream) => {
            let error = stream.chunks.iter().find_map(|c| provider_error(&c.value));
            (error, stream.broken.clone())
        }
        ResponseBody::Plain(_) => (None, None),
    };
    match (first_error, broken) {
        (Some(error), _) => error,
        (None, Some(reason)) => ParseError::Invalid { format, reason },
        (None, None) => ParseError::Unrecognised { asked: format, hint: hint(format) },
    }
}

fn hint(format: Format) -> &'static str {
    match format {
        Format::OpenAiChat => "it has no `choices` and is not an assistant message",
        Format::OpenAiResponses => "it has no `output` items",
        Format::Anthropic => "it has no `content` blocks",
        Format::Gemini => "it has no `candidates` and is not model content",
        Format::Text => "it is not text",
    }
}

fn check_text(format: Format, body: &[u8]) -> Result<&str, ParseError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        // A recording may end inside a character; the text before it is treated as a cut stream.
        Err(error) if error.error_len().is_none() => {
            body.get(..error.valid_up_to()).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or("")
        }
        Err(error) => {
            let reason = format!("byte {} is not UTF-8", error.valid_up_to());
            return Err(ParseError::Invalid { format, reason });
        }
    };
    if text.trim().is_empty() {
        return Err(ParseError::Empty);
    }
    html_title(text).map_or(Ok(text), |title| Err(ParseError::Html { title }))
}

fn html_title(text: &str) -> Option<String> {
    let text = text.trim_start();
    if !text.starts_with('<') {
        return None;
    }
    let head: String = text.chars().take(2000).collect();
    let lower = head.to_ascii_lowercase();
    let is_page = ["<!doctype html", "<html", "<head", "<body", "<title", "<center"]
        .iter()
        .any(|start| lower.starts_with(start));
    if !is_page {
        return None;
    }
    // ASCII lower case keeps all byte positions.
    let title = lower.find("<title>").and_then(|start| {
        let inner = head.get(start + "<title>".len()..)?;
        Some(inner.split('<').next().unwrap_or(inner).trim().to_owned())
    });
    Some(truncate(&title.unwrap_or_default(), 100))
}

/// Parses text: any text is an answer, except an answer or an error in a provider's format.
fn parse_text(text: &str) -> Result<Turn, ParseError> {
    let doc = read(Format::Text, text).unwrap_or_else(|_| ResponseBody::Plain(text.to_owned()));
    if let Some(found) = detect_format::detect_document(&doc) {
        return Err(ParseError::OtherFormat { asked: Format::Text, found });
    }
    let turn = bounded(text_tools::parse(text));
    let error = match &doc {
        ResponseBody::Whole(chunk) if turn.calls.is_empty() => provider_error(&chunk.value),
        _ => None,
    };
    error.map_or(Ok(turn), Err)
}

/// Parses the outer structure of a body.
pub(crate) fn read(format: Format, text: &str) -> Result<ResponseBody, ParseError> {
    let trimmed = text.trim();
    match trimmed.as_bytes().first() {
        Some(b'{' | b'[') => {}
        _ if looks_like_events(text) => return Ok(ResponseBody::Stream(read_events(text))),
        _ => return Ok(ResponseBody::Plain(text.to_owned())),
    }
    match serde_json::from_str(trimmed) {
        Ok(Value::Array(items)) if items.iter().any(is_gemini_chunk) => {
            Ok(ResponseBody::Stream(read_array(trimmed)))
        }
        Ok(value) => Ok(ResponseBody::Whole(RawValue { value, text: trimmed.to_owned() })),
        Err(_) if trimmed.starts_with('[') && first_is_gemini(trimmed) => {
            Ok(ResponseBody::Stream(read_array(trimmed)))
        }
        Err(error) => {
            read_lines(trimmed).map(ResponseBody::Stream).ok_or_else(|| ParseError::Invalid {
                format,
                reason: if error.is_eof() {
                    format!("the JSON is cut off ({error})")
                } else {
                    error.to_string()
                },
            })
        }
    }
}

fn not_json(format: Format, plain: &str) -> ParseError {
    let start = truncate(plain.trim(), 60);
    let reason = format!("it is neither JSON nor an event stream; it begins with {start:?}");
    ParseError::Invalid { format, reason }
}

fn looks_like_events(text: &str) -> bool {
    text.lines()
        .map(|line| line.trim_start_matches('\u{feff}'))
        .find(|l| !l.is_empty())
        .is_some_and(|line| {
            ["data:", "event:", "id:", "retry:", ":"].iter().any(|f| line.starts_with(f))
        })
}

fn read_events(text: &str) -> ParsedStream {
    let mut stream = ParsedStream::default();
    let mut parser = sse::Parser::new();
    let events = match parser.push(text.as_bytes()) {
        Ok(events) => events,
        Err(error) => {
            stream.broken = Some(error.to_string());
            return stream;
        }
    };
    for event in events {
        add_event(&mut stream, &event.data, true);
    }
    if let Some(event) = parser.finish() {
        add_event(&mut stream, &event.data, false);
    }
    stream
}

/// Adds the data of one event. A last event without its blank line is used only if its data is
/// complete JSON.
fn add_event(stream: &mut ParsedStream, data: &[u8], ended: bool) {
    let text = String::from_utf8_lossy(data);
    let text = text.trim();
    if text == "[DONE]" {
        stream.done = true;
    } else if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
        stream.chunks.push(RawValue { value, text: text.to_owned() });
    } else if !text.is_empty() && ended {
        let what = format!("an event of the stream is not valid JSON: {:?}", truncate(text, 60));
        stream.broken.get_or_insert(what);
    } else if !text.is_empty() {
        stream.broken.get_or_insert_with(|| "the stream ends inside an event".to_owned());
    }
}

fn is_gemini_chunk(value: &Value) -> bool {
    ["candidates", "promptFeedback", "usageMetadata"].iter().any(|key| value.get(key).is_some())
}

fn first_is_gemini(array: &str) -> bool {
    let head: String = array.chars().take(400).collect();
    head.contains("\"candidates\"") || head.contains("\"promptFeedback\"")
}

/// Parses the chunks of an array, which Gemini streams without `alt=sse`; of a truncated array, the
/// complete ones.
fn read_array(array: &str) -> ParsedStream {
    let mut stream = ParsedStream::default();
    let mut rest = array.strip_prefix('[').unwrap_or(array).trim_start();
    while !rest.is_empty() && !rest.starts_with(']') {
        let Some((item, after)) = raw_json::split_value(rest) else { break };
        let Ok(value) = serde_json::from_str(item) else { break };
        stream.chunks.push(RawValue { value, text: item.to_owned() });
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    if !rest.starts_with(']') && !rest.is_empty() {
        stream.broken = Some("the stream ends inside a chunk".to_owned());
    }
    stream
}

/// Parses lines of JSON, which Ollama streams; `None` if the first line is not JSON.
fn read_lines(text: &str) -> Option<ParsedStream> {
    let mut stream = ParsedStream::default();
    for line in text.split('\n').map(str::trim).filter(|line| !line.is_empty()) {
        match serde_json::from_str(line) {
            Ok(value @ Value::Object(_)) => {
                stream.chunks.push(RawValue { value, text: line.to_owned() });
            }
            _ if stream.chunks.is_empty() => return None,
            _ => {
                stream.broken =
                    Some("a line of the stream is not valid JSON, or truncated".to_owned());
                break;
            }
        }
    }
    Some(stream)
}
