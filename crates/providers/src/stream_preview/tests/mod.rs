//! Tests of the stream preview: the turn equals the parser's, and the preview never shows anything
//! that the turn does not contain.

mod split_recordings;
mod stream_ends;
mod usage;

use super::StreamPreview;
use crate::model::Delta;
use crate::model_turn::Turn;
use crate::parse_error::ParseError;
use crate::wire_format::Format;

/// The pieces that were shown.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) text: String,
    pub(super) reasoning: String,
    /// Name and arguments of each call, in order.
    pub(super) calls: Vec<(String, String)>,
    pub(super) hosted: Vec<String>,
}

impl Seen {
    fn add(&mut self, delta: Delta) {
        match delta {
            Delta::Text { text } => self.text.push_str(&text),
            Delta::Reasoning { text } => self.reasoning.push_str(&text),
            Delta::CallStart { index, name } => {
                assert_eq!(index, self.calls.len(), "calls are numbered as they come");
                self.calls.push((name, String::new()));
            }
            Delta::CallArgs { index, text } => self.calls[index].1.push_str(&text),
            Delta::Hosted { kind } => self.hosted.push(kind),
            Delta::Retry { .. } => panic!("a watcher never retries"),
        }
    }
}

pub(super) fn watch<'b>(
    format: Format,
    text_tools: bool,
    pieces: impl IntoIterator<Item = &'b [u8]>,
) -> (Seen, StreamPreview) {
    let mut seen = Seen::default();
    let mut watcher = StreamPreview::new(format, text_tools);
    for piece in pieces {
        watcher.feed(piece, &mut |delta| seen.add(delta));
    }
    assert_eq!(seen.text, watcher.partial_text());
    (seen, watcher)
}

pub(super) fn whole(
    format: Format,
    text_tools: bool,
    body: &str,
) -> (Seen, Result<Turn, ParseError>) {
    let (seen, watcher) = watch(format, text_tools, [body.as_bytes()]);
    (seen, watcher.finish())
}

/// Events of a stream.
pub(super) fn events(chunks: &[serde_json::Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// Every recorded answer of a provider.
pub(super) fn recordings() -> Vec<(Format, String, Vec<u8>)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut all = Vec::new();
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Text) {
        for entry in std::fs::read_dir(root.join(format.as_str())).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            all.push((format, name, std::fs::read(&path).unwrap()));
        }
    }
    assert!(all.len() > 30, "the recordings are there");
    all
}
