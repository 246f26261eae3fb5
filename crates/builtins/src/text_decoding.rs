//! Decodes file content to text: encodings, and detection of binary data.
#![deny(clippy::indexing_slicing)]

use std::io::Read;

use encoding_rs::{DecoderResult, Encoding, UTF_8};
use toolcrib_core::{CancellationToken, ErrorType, ToolError};

/// Bytes read and decoded at once.
const CHUNK: usize = 64 * 1024;

/// Returns the encoding for a label such as `UTF-8`, `latin1`, `utf-16le` (WHATWG Encoding
/// standard).
pub(crate) fn encoding(label: Option<&str>) -> Result<&'static Encoding, ToolError> {
    let Some(label) = label else { return Ok(UTF_8) };
    Encoding::for_label_no_replacement(label.as_bytes()).ok_or_else(|| {
        let shown: String = label.chars().take(60).collect();
        ToolError::validation(format!(
            "There is no encoding \"{shown}\". Use a label such as utf-8, windows-1252, utf-16le, shift_jis or gb18030."
        ))
    })
}

/// Decodes a stream in chunks; a byte order mark of the encoding is dropped.
pub(crate) struct TextReader<'a, R> {
    from: R,
    path: &'a str,
    encoding: &'static Encoding,
    decoder: encoding_rs::Decoder,
    cancel: &'a CancellationToken,
    /// Bytes read so far, for messages.
    read: u64,
    done: bool,
}

impl<'a, R: Read> TextReader<'a, R> {
    pub(crate) fn new(
        from: R,
        path: &'a str,
        encoding: &'static Encoding,
        cancel: &'a CancellationToken,
    ) -> Self {
        let decoder = encoding.new_decoder_with_bom_removal();
        Self { from, path, encoding, decoder, cancel, read: 0, done: false }
    }

    /// Returns the next chunk of text; `None` at the end.
    ///
    /// # Errors
    /// `execution_error` for data that is not text in this encoding, `cancelled`, and errors of the
    /// system.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<String>, ToolError> {
        if self.done {
            return Ok(None);
        }
        if self.cancel.is_cancelled() {
            return Err(ToolError::new(ErrorType::Cancelled, "The call was stopped."));
        }
        let mut bytes = Vec::with_capacity(CHUNK);
        (&mut self.from).take(CHUNK as u64).read_to_end(&mut bytes).map_err(|error| {
            ToolError::execution(format!(
                "{} could not be read. Check it with file_info.",
                self.path
            ))
            .with_detail(error.to_string())
        })?;
        self.done = bytes.is_empty();
        if self.read == 0 {
            self.check_bom(&bytes)?;
        }
        let text = self.decode(&bytes)?;
        self.read += bytes.len() as u64;
        Ok(Some(text))
    }

    fn decode(&mut self, mut bytes: &[u8]) -> Result<String, ToolError> {
        let room = self.decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(3 * CHUNK + 16);
        let mut text = String::with_capacity(room);
        loop {
            let (result, used) =
                self.decoder.decode_to_string_without_replacement(bytes, &mut text, self.done);
            bytes = bytes.get(used..).unwrap_or_default();
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => text.reserve(bytes.len().max(16)),
                DecoderResult::Malformed(..) => return Err(self.not_text()),
            }
        }
        if text.contains('\0') { Err(self.not_text()) } else { Ok(text) }
    }

    /// Detects UTF-16 that was not requested, for a better message than "binary".
    fn check_bom(&self, bytes: &[u8]) -> Result<(), ToolError> {
        match Encoding::for_bom(bytes) {
            Some((marked, _)) if marked != UTF_8 && self.encoding == UTF_8 => {
                Err(ToolError::execution(format!(
                    "{} is not UTF-8: it begins with the mark of {}. Call again with encoding {}.",
                    self.path,
                    marked.name(),
                    marked.name().to_ascii_lowercase()
                )))
            }
            _ => Ok(()),
        }
    }

    fn not_text(&self) -> ToolError {
        let path = self.path;
        ToolError::execution(if self.encoding == UTF_8 {
            format!(
                "{path} is a binary file, or text in another encoding than UTF-8, so it cannot be read as text. If it is text, call again with its encoding, such as windows-1252. Otherwise use file_info, or a tool for its format."
            )
        } else {
            format!(
                "{path} is not valid {} text. Call again with its real encoding, or leave encoding out for UTF-8. If it is a binary file, use file_info, or a tool for its format.",
                self.encoding.name()
            )
        })
    }
}
