//! Preview of a streamed answer: shows pieces as the answer arrives, and parses it when it is
//! complete.
//!
//! The preview decides nothing. It stores the bytes, and [`StreamPreview::finish`] parses them with
//! the same parser as recordings, so a live answer and its recording give the same turn.
#![deny(clippy::indexing_slicing)]

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;
mod preview_sink;
mod stream_splitter;
#[cfg(test)]
mod tests;
mod text_filter;

use serde_json::Value;

use crate::model::DeltaSink;
use crate::model_turn::Turn;
use crate::parse_error::ParseError;
use crate::parse_response::{parse, parse_with_text_tools};
use crate::wire_format::Format;
use preview_sink::PreviewSink;
use stream_splitter::StreamSplitter;
use text_filter::{FilterMode, TextFilter};

/// Maximum stored bytes of one answer (32 MB), so that a server cannot exhaust the memory.
pub const MAX_ANSWER: usize = 32_000_000;

/// One answer, from its first byte to its last.
#[derive(Debug)]
pub struct StreamPreview {
    format: Format,
    text_tools: bool,
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
    ended: bool,
    splitter: StreamSplitter,
    reader: Reader,
    filter: TextFilter,
    calls: usize,
}

/// Preview of the chunks, by format.
#[derive(Debug)]
enum Reader {
    Chat(openai_chat::Reader),
    Responses(openai_responses::Reader),
    Anthropic(anthropic::Reader),
    Gemini(gemini::Reader),
}

impl Reader {
    /// Shows a chunk; `true` if it ends the answer.
    fn read(&mut self, chunk: &Value, streamed: bool, out: &mut PreviewSink<'_, '_>) -> bool {
        match self {
            Self::Chat(reader) => reader.read(chunk, streamed, out),
            Self::Responses(reader) => reader.read(chunk, out),
            Self::Anthropic(reader) => reader.read(chunk, out),
            Self::Gemini(reader) => reader.read(chunk, streamed, out),
        }
    }
}

impl StreamPreview {
    /// Creates the preview of an answer in the wire format `format` (of the request, so never
    /// [`Format::Text`]). With `text_tools` the model has no function calling, and its calls are in
    /// its text.
    #[must_use]
    pub fn new(format: Format, text_tools: bool) -> Self {
        let reader = match format {
            Format::OpenAiResponses => Reader::Responses(openai_responses::Reader::default()),
            Format::Anthropic => Reader::Anthropic(anthropic::Reader::default()),
            Format::Gemini => Reader::Gemini(gemini::Reader),
            Format::OpenAiChat | Format::Text => Reader::Chat(openai_chat::Reader::default()),
        };
        let mode = match format {
            _ if text_tools => FilterMode::TextTools,
            Format::OpenAiChat => FilterMode::Tagged,
            _ => FilterMode::Plain,
        };
        Self {
            format,
            text_tools,
            bytes: Vec::new(),
            limit: MAX_ANSWER,
            full: false,
            ended: false,
            splitter: StreamSplitter::default(),
            reader,
            filter: TextFilter::new(mode),
            calls: 0,
        }
    }

    /// Accepts the next bytes, split anywhere, and shows the pieces that they complete.
    pub fn feed(&mut self, bytes: &[u8], deltas: DeltaSink<'_>) {
        if self.full || self.bytes.len() + bytes.len() > self.limit {
            self.full = true;
            self.bytes = Vec::new();
            self.splitter = StreamSplitter::Nothing;
            return;
        }
        self.bytes.extend_from_slice(bytes);
        let chunks = self.splitter.push(&self.bytes, bytes.len());
        let mut out = PreviewSink { filter: &mut self.filter, calls: &mut self.calls, deltas };
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

    /// Returns the text shown so far.
    #[must_use]
    pub fn partial_text(&self) -> &str {
        self.filter.shown()
    }

    /// Returns whether the provider's last event has arrived, so that the caller need not wait for
    /// the end of the connection. `false` proves nothing: some servers send no last event.
    #[must_use]
    pub fn is_complete_hint(&self) -> bool {
        self.ended
    }

    /// Returns whether the answer is larger than [`MAX_ANSWER`]; the caller can stop reading then.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the bytes of the answer so far; empty if it [is full](Self::is_full).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Parses the answer. With `text_tools` it is a turn of [`Format::Text`].
    ///
    /// # Errors
    /// As for [`crate::parse`]; also [`ParseError::Invalid`] if the answer was larger than
    /// [`MAX_ANSWER`].
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
