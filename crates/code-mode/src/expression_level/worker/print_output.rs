//! Output of the code: buffers printed text and sends it as messages.

use std::borrow::Cow;
use std::io::Write;

use monty_types::{ExcType, MontyException, PrintWriterCallback};

use crate::framing;
use crate::worker_protocol::WorkerMessage;

/// Number of bytes that are buffered before they are sent.
const GATHERED: usize = 32 << 10;

/// Buffers printed text and sends it in pieces.
pub(super) struct PrintOutput<'a, W: Write> {
    to: &'a mut W,
    text: String,
    /// Whether anything was printed.
    pub(super) any: bool,
}

impl<'a, W: Write> PrintOutput<'a, W> {
    pub(super) fn new(to: &'a mut W) -> Self {
        Self { to, text: String::new(), any: false }
    }

    /// Sends the buffered text.
    pub(super) fn send(&mut self) -> Result<(), MontyException> {
        if self.text.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.text);
        // The reader has ended, so the code need not continue.
        framing::write(self.to, &WorkerMessage::Printed { text })
            .map_err(|error| MontyException::new(ExcType::OSError, Some(error.to_string())))
    }

    /// Returns the stream for messages.
    pub(super) fn writer(&mut self) -> &mut W {
        self.to
    }

    fn gathered(&mut self) -> Result<(), MontyException> {
        self.any = true;
        if self.text.len() >= GATHERED { self.send() } else { Ok(()) }
    }
}

impl<W: Write> PrintWriterCallback for PrintOutput<'_, W> {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        let mut rest = &*output;
        // One text may be longer than a message.
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(GATHERED.max(4)));
            self.text.push_str(piece);
            self.gathered()?;
            rest = after;
        }
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.text.push(end);
        self.gathered()
    }
}
