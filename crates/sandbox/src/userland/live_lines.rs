//! Forwards the lines of a program while it writes them; the stream can be read as before.
#![deny(clippy::indexing_slicing)]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc::UnboundedSender;

use crate::backend::Output;

/// Maximum bytes of a line that are forwarded.
const LINE: usize = 1_000;

/// A stream that forwards its lines.
pub(super) struct LiveLines {
    stream: Output,
    line: Vec<u8>,
    heard: UnboundedSender<String>,
}

impl LiveLines {
    pub(super) fn tap(stream: Output, heard: UnboundedSender<String>) -> Output {
        Box::new(Self { stream, line: Vec::new(), heard })
    }

    fn hear(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' | b'\r' => self.end_line(),
                _ if self.line.len() < LINE => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line).trim().to_owned();
        self.line.clear();
        if !line.is_empty() {
            // A send error means that no receiver listens.
            let _ = self.heard.send(line);
        }
    }
}

impl AsyncRead for LiveLines {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Poll::Ready(Ok(())) = &read {
            match buffer.filled().get(before..).unwrap_or_default() {
                [] => self.end_line(),
                fresh => self.hear(fresh),
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn the_stream_is_whole_and_each_line_is_heard_once() {
        let text = format!("one\r\n\ntwo {}\nthree", "x".repeat(3_000));
        let (heard, mut lines) = unbounded_channel();
        let mut stream =
            LiveLines::tap(Box::new(io::Cursor::new(text.clone().into_bytes())), heard);
        let mut read = String::new();
        stream.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, text);
        drop(stream);
        let mut all = Vec::new();
        while let Some(line) = lines.recv().await {
            all.push(line);
        }
        assert_eq!((all.len(), &*all[0], all[1].len(), &*all[2]), (3, "one", LINE, "three"));
    }
}
