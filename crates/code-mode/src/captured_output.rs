//! Output of the code: short output stays in memory, long output streams into an artifact, so that
//! memory stays bounded.

use toolcrib_core::{Block, CallCtx, StreamSink};

/// Maximum number of bytes in memory before an artifact is opened. Below the limit of a result, so
/// that short output needs no artifact.
const SHORT: usize = 16_000;

/// Maximum number of bytes that are stored at all, so that endless output does not fill the disk.
const MOST: usize = 8 << 20;

/// Number of bytes at the end that error messages quote.
const RECENT: usize = 1_000;

/// Captured output.
pub(crate) struct CapturedOutput<'a> {
    ctx: &'a CallCtx,
    short: Vec<u8>,
    long: Option<Box<dyn StreamSink>>,
    recent: Vec<u8>,
    /// Length of the whole output, including dropped bytes.
    all: usize,
}

impl<'a> CapturedOutput<'a> {
    pub(crate) fn new(ctx: &'a CallCtx) -> Self {
        Self { ctx, short: Vec::new(), long: None, recent: Vec::new(), all: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (_, end) = bytes.split_at(bytes.len().saturating_sub(RECENT));
        self.recent.extend_from_slice(end);
        let excess = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..excess);
        let room = MOST.saturating_sub(self.all);
        self.all = self.all.saturating_add(bytes.len());
        let bytes = bytes.get(..room).unwrap_or(bytes);
        if let Some(long) = &mut self.long {
            return long.write(bytes);
        }
        self.short.extend_from_slice(bytes);
        if self.short.len() > SHORT {
            let mut long = self.ctx.stream("text/plain");
            long.write(&std::mem::take(&mut self.short));
            self.long = Some(long);
        }
    }

    /// Discards everything: the code runs again at another level.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.ctx);
    }

    /// Returns the end of the output, as a sentence for an error message; empty if there is none.
    pub(crate) fn tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.recent);
        let text =
            text.trim_matches(|c: char| c.is_whitespace() || c == char::REPLACEMENT_CHARACTER);
        if text.is_empty() { String::new() } else { format!(" It printed last:\n{text}") }
    }

    /// Returns the whole output as text, or its beginning with the reference to the whole.
    pub(crate) fn into_text(self) -> String {
        match self.finish() {
            Some(Block::Text { text, .. }) => text,
            Some(Block::Spilled { preview, artifact, .. }) => {
                let stored = artifact.map(|artifact| format!("\n[all of it is {artifact}]\n"));
                preview + &stored.unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    /// Returns the whole output; `None` if there is none.
    pub(crate) fn finish(self) -> Option<Block> {
        match self.long {
            Some(mut long) => {
                if self.all > MOST {
                    let more = self.all - MOST;
                    long.write(format!("\n[{more} bytes more, which were not kept]\n").as_bytes());
                }
                Some(long.finish())
            }
            None if self.short.is_empty() => None,
            None => Some(Block::text(String::from_utf8_lossy(&self.short))),
        }
    }
}
