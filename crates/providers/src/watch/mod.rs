//! An answer on its way: shown to people while it comes, read when it is whole.
//!
//! What is shown never decides anything. The bytes are kept, and [`Watcher::finish`] reads them with the one parser that also reads recordings,
//! so a live answer and its recording are the same turn.
#![deny(clippy::indexing_slicing)]

mod anthropic;
mod chat;
mod filter;
mod gemini;
mod out;
mod responses;
mod split;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::error::ParseError;
use crate::format::Format;
use crate::model::DeltaSink;
use crate::parse::{parse, parse_with_text_tools};
use crate::turn::Turn;
use filter::{Filter, Mode};
use out::Out;
use split::Splitter;

/// Bytes of one answer that are kept at most (32 MB): a server must not fill the memory.
pub const MAX_ANSWER: usize = 32_000_000;

/// One answer, from its first byte to its last.
#[derive(Debug)]
pub struct Watcher {
    format: Format,
    text_tools: bool,
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
    ended: bool,
    splitter: Splitter,
    reader: Reader,
    filter: Filter,
    calls: usize,
}

/// What a chunk of an answer shows, by format.
#[derive(Debug)]
enum Reader {
    Chat(chat::Reader),
    Responses(responses::Reader),
    Anthropic(anthropic::Reader),
    Gemini(gemini::Reader),
}

impl Reader {
    /// Shows a chunk; `true` = the answer is over with it.
    fn read(&mut self, chunk: &Value, streamed: bool, out: &mut Out<'_, '_>) -> bool {
        match self {
            Self::Chat(reader) => reader.read(chunk, streamed, out),
            Self::Responses(reader) => reader.read(chunk, out),
            Self::Anthropic(reader) => reader.read(chunk, out),
            Self::Gemini(reader) => reader.read(chunk, streamed, out),
        }
    }
}

impl Watcher {
    /// An answer in the wire format `format` (of the request, so never [`Format::Text`]); with `text_tools` the model has no function
    /// calling, and its calls stand in its text.
    #[must_use]
    pub fn new(format: Format, text_tools: bool) -> Self {
        let reader = match format {
            Format::OpenAiResponses => Reader::Responses(responses::Reader::default()),
            Format::Anthropic => Reader::Anthropic(anthropic::Reader::default()),
            Format::Gemini => Reader::Gemini(gemini::Reader),
            Format::OpenAiChat | Format::Text => Reader::Chat(chat::Reader::default()),
        };
        let mode = match format {
            _ if text_tools => Mode::TextTools,
            Format::OpenAiChat => Mode::Tagged,
            _ => Mode::Plain,
        };
        Self {
            format,
            text_tools,
            bytes: Vec::new(),
            limit: MAX_ANSWER,
            full: false,
            ended: false,
            splitter: Splitter::default(),
            reader,
            filter: Filter::new(mode),
            calls: 0,
        }
    }

    /// Takes the next bytes, cut anywhere, and shows what they complete.
    pub fn feed(&mut self, bytes: &[u8], deltas: DeltaSink<'_>) {
        if self.full || self.bytes.len() + bytes.len() > self.limit {
            self.full = true;
            self.bytes = Vec::new();
            self.splitter = Splitter::Nothing;
            return;
        }
        self.bytes.extend_from_slice(bytes);
        let chunks = self.splitter.push(&self.bytes, bytes.len());
        let mut out = Out { filter: &mut self.filter, calls: &mut self.calls, deltas };
        for chunk in &chunks.values {
            if self.reader.read(chunk, chunks.streamed, &mut out) {
                self.ended = true;
                out.flush();
            }
        }
        if chunks.done {
            self.ended = true;
            out.flush();
        }
    }

    /// The text shown so far.
    #[must_use]
    pub fn partial_text(&self) -> &str {
        self.filter.shown()
    }

    /// Whether the provider has said its last word, so that nothing is lost by not waiting for the end of the connection. `false` says
    /// nothing: not every server has a last word.
    #[must_use]
    pub fn is_complete_hint(&self) -> bool {
        self.ended
    }

    /// Whether the answer is larger than [`MAX_ANSWER`]; it need not be read on then.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The bytes of the answer, as far as they came; empty when it [is full](Self::is_full).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads the answer. With `text_tools` it is a turn of [`Format::Text`].
    ///
    /// # Errors
    /// As [`crate::parse`]; and [`ParseError::Invalid`] when the answer was larger than [`MAX_ANSWER`].
    pub fn finish(self) -> Result<Turn, ParseError> {
        if self.full {
            let reason = format!("it is larger than {} MB", MAX_ANSWER / 1_000_000);
            return Err(ParseError::Invalid { format: self.format, reason });
        }
        if self.text_tools {
            parse_with_text_tools(self.format, &self.bytes)
        } else {
            parse(self.format, &self.bytes)
        }
    }
}
