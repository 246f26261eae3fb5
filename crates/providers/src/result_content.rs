//! Content of results, shared by all formats: the wire form, its size limits, and attached media.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use toolcrib_core::{Blob, Block};

use crate::result_messages::CallResult;
use crate::wire_format::Format;

/// Limits of a result in one format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultLimits {
    /// Characters of a result's JSON text.
    pub(crate) result_chars: usize,
    /// Bytes of one image or audio, before base64.
    media_bytes: usize,
    /// Bytes of all media of one result.
    media_total: usize,
    /// Supported media types.
    media_types: &'static [&'static str],
}

const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
const IMAGES_AND_SOUND: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "audio/wav",
    "audio/x-wav",
    "audio/mpeg",
    "audio/mp3",
];
const GEMINI_IMAGES: &[&str] =
    &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];

const MB: usize = 1_000_000;

/// Returns the limits from the providers' documentation, rounded down. The engine's own limit
/// (20,000 characters) is far below them; they matter only if an embedder raises it. OpenAI rejects
/// text over 1,048,576 characters in a message and over 10,485,760 in a `function_call_output`, and
/// 50 MB of images in a request; Anthropic rejects requests over 32 MB and images over 5 MB; Gemini
/// requests over 20 MB.
pub(crate) fn limits(format: Format) -> ResultLimits {
    let (result_chars, media_bytes, media_total, media_types) = match format {
        Format::OpenAiChat => (MB, 15 * MB, 30 * MB, IMAGES_AND_SOUND),
        Format::OpenAiResponses => (10 * MB, 15 * MB, 30 * MB, IMAGES),
        // 3.75 MB is 5 MB of base64.
        Format::Anthropic => (10 * MB, 3_750_000, 15 * MB, IMAGES),
        Format::Gemini => (5 * MB, 7 * MB, 10 * MB, GEMINI_IMAGES),
        Format::Text => (MB, 0, 0, &[] as &[&str]),
    };
    ResultLimits { result_chars, media_bytes, media_total, media_types }
}

/// Returns the result as JSON text of at most `limit` characters. A result that fits, as nearly all
/// do, is serialized once and never copied.
pub(crate) fn text(answer: &CallResult<'_>, limit: usize) -> String {
    let wire = object(answer);
    let text = wire.to_string();
    if fits(&text, limit) { text } else { bounded(wire.into_owned(), limit).to_string() }
}

/// Returns the result as a JSON object of at most `limit` characters.
pub(crate) fn bounded_object(answer: &CallResult<'_>, limit: usize) -> Value {
    let wire = object(answer).into_owned();
    if fits(&wire.to_string(), limit) { wire } else { bounded(wire, limit) }
}

/// Returns whether a text has at most `limit` characters. Counts characters only if the bytes
/// exceed the limit.
fn fits(text: &str, limit: usize) -> bool {
    text.len() <= limit || text.chars().count() <= limit
}

fn object<'a>(answer: &CallResult<'a>) -> Cow<'a, Value> {
    match answer {
        CallResult::Outcome(outcome) => Cow::Owned(outcome.to_wire()),
        CallResult::Kept(answer) => Cow::Borrowed(&answer.wire),
        CallResult::Suspended(text) => Cow::Owned(json!({"status": "suspended", "message": text})),
        CallResult::NotRun(text) => Cow::Owned(json!({"status": "not_run", "message": text})),
    }
}

/// Returns whether the result is marked as an error for the provider.
pub(crate) fn is_error(answer: &CallResult<'_>) -> bool {
    match answer {
        CallResult::Outcome(outcome) => outcome.is_error(),
        CallResult::Kept(answer) => answer.is_error,
        CallResult::Suspended(_) => false,
        CallResult::NotRun(_) => true,
    }
}

/// Cuts the longest member in the middle until the whole fits.
fn bounded(mut wire: Value, limit: usize) -> Value {
    let total = wire.to_string().chars().count();
    if total <= limit {
        return wire;
    }
    let Some(object) = wire.as_object_mut() else { return wire };
    object.remove("notes");
    let key = if object.contains_key("result") { "result" } else { "message" };
    let whole = match object.remove(key) {
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
        None => String::new(),
    };
    object.insert(
        "shortened".to_owned(),
        format!("The result has {total} characters, more than this format takes; its middle was left out.")
            .into(),
    );
    let mut keep = limit;
    loop {
        keep /= 2;
        object.insert(key.to_owned(), cut_middle(&whole, keep).into());
        if keep == 0 || Value::Object(object.clone()).to_string().chars().count() <= limit {
            return wire;
        }
    }
}

/// Keeps `keep` characters, split between the beginning and the end.
fn cut_middle(text: &str, keep: usize) -> String {
    let count = text.chars().count();
    if count <= keep {
        return text.to_owned();
    }
    let head: String = text.chars().take(keep / 2).collect();
    let tail: String = text.chars().skip(count - keep / 2).collect();
    format!("{head}\n[… {} characters left out …]\n{tail}", count - 2 * (keep / 2))
}

/// An image or audio of a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Media<'a> {
    pub(crate) blob: &'a Blob,
    /// Whether the format accepts it.
    pub(crate) fits: bool,
}

impl Media<'_> {
    pub(crate) fn base64(&self) -> String {
        STANDARD.encode(&self.blob.data)
    }

    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.blob.media_type, self.base64())
    }

    pub(crate) fn is_image(&self) -> bool {
        self.blob.media_type.starts_with("image/")
    }
}

/// Returns all media of a result, checked against the format.
pub(crate) fn media<'a>(answer: &CallResult<'a>, format: Format) -> Vec<Media<'a>> {
    let blocks = match answer {
        CallResult::Outcome(outcome) => outcome.result.as_ref().map_or(&[][..], |r| &r.media),
        CallResult::Kept(answer) => &answer.media,
        CallResult::Suspended(_) | CallResult::NotRun(_) => &[],
    };
    let blobs = blocks.iter().filter_map(|block| match block {
        Block::Image(blob) | Block::Audio(blob) => Some(blob),
        _ => None,
    });
    check_media(blobs, format)
}

/// Returns the images of a user message, checked against the format and the model.
pub(crate) fn user_images(blobs: &[Blob], format: Format, takes_images: bool) -> Vec<Media<'_>> {
    let mut all = check_media(blobs.iter(), format);
    for media in &mut all {
        media.fits &= takes_images && media.is_image();
    }
    all
}

fn check_media<'a>(blobs: impl Iterator<Item = &'a Blob>, format: Format) -> Vec<Media<'a>> {
    let limits = limits(format);
    let mut left = limits.media_total;
    let mut all = Vec::new();
    for blob in blobs {
        let size = blob.data.len();
        let fits = size <= limits.media_bytes.min(left)
            && size > 0
            && limits.media_types.contains(&blob.media_type.as_str());
        if fits {
            left -= size;
        }
        all.push(Media { blob, fits });
    }
    all
}

/// Returns a line of text in place of media that cannot be sent.
pub(crate) fn omitted_note(media: &Media<'_>) -> String {
    let (kind, bytes) = (&media.blob.media_type, media.blob.data.len());
    format!("[{kind}, {bytes} bytes: not shown, because this format does not take it]")
}

/// Returns the result's JSON text, with a line for each omitted medium.
pub(crate) fn text_with_notes(
    answer: &CallResult<'_>,
    media: &[Media<'_>],
    limit: usize,
) -> String {
    let mut text = text(answer, limit);
    for media in media.iter().filter(|m| !m.fits) {
        text.push('\n');
        text.push_str(&omitted_note(media));
    }
    text
}

/// Returns a JSON object of these members, without nulls.
pub(crate) fn members(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let kept = pairs.into_iter().filter(|(_, v)| !v.is_null());
    Value::Object(kept.map(|(k, v)| (k.to_owned(), v)).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_cut_in_the_middle_and_say_so() {
        let long = "é\"".repeat(5_000);
        for limit in [500, 1_000, 9_000] {
            let wire = bounded(json!({"status": "success", "result": long}), limit);
            let text = wire.to_string();
            assert!(text.chars().count() <= limit, "{limit}");
            assert!(text.contains("left out") && wire["shortened"].is_string(), "{text}");
            assert_eq!(wire["status"], "success");
            assert!(wire["result"].as_str().unwrap().starts_with('é'));
        }
        let short = json!({"status": "success", "result": "ok"});
        assert_eq!(bounded(short.clone(), 500), short);
    }
}
