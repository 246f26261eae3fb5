//! Parses server-sent events from the pieces of a response (HTML Living Standard, 9.2.6).
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::{ResponseStream, unreachable};
use crate::output::Failure;

/// Maximum size of an event in bytes: a snapshot of a long run.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerSentEvent {
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// The events of a stream.
pub(crate) struct EventStream {
    stream: ResponseStream,
    read: FrameBuffer,
}

impl EventStream {
    pub(crate) fn from_stream(stream: ResponseStream) -> Self {
        Self { stream, read: FrameBuffer::default() }
    }

    /// Returns the next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<ServerSentEvent>, Failure> {
        loop {
            if let Some(frame) = self.read.pop_frame() {
                if let Some(told) = parse_frame(&frame)? {
                    return Ok(Some(told));
                }
                continue;
            }
            match self.stream.next().await? {
                Some(piece) => self.read.push(&piece)?,
                None => return Ok(None),
            }
        }
    }
}

/// Received text, from which complete frames are removed.
#[derive(Default)]
struct FrameBuffer {
    text: Vec<u8>,
    /// Number of bytes that were already searched for the end of a frame.
    searched: usize,
}

impl FrameBuffer {
    fn push(&mut self, piece: &[u8]) -> Result<(), Failure> {
        if self.text.len() + piece.len() > MAX_EVENT_BYTES {
            return Err(unreachable("the daemon sent an event that has no end"));
        }
        self.text.extend_from_slice(piece);
        Ok(())
    }

    fn pop_frame(&mut self) -> Option<String> {
        let rest = self.text.get(self.searched..).unwrap_or_default();
        let Some(end) = rest.windows(2).position(|two| two == b"\n\n") else {
            self.searched = self.text.len().saturating_sub(1);
            return None;
        };
        let end = self.searched + end;
        let frame = String::from_utf8_lossy(self.text.get(..end).unwrap_or_default()).into_owned();
        self.text.drain(..end + 2);
        self.searched = 0;
        Some(frame)
    }
}

/// Parses the event of a frame; returns `None` for a comment.
fn parse_frame(frame: &str) -> Result<Option<ServerSentEvent>, Failure> {
    let field = |name: &str| {
        let line = frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.strip_prefix(' ').unwrap_or(value))
    };
    let (Some(name), Some(data)) = (field("event"), field("data")) else { return Ok(None) };
    let data = serde_json::from_str(data).map_err(|error| {
        unreachable(&format!("the daemon sent an event that cannot be read: {error}"))
    })?;
    Ok(Some(ServerSentEvent { name: name.to_owned(), data }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = "retry: 1000\n\n: ping\n\nid: 1\nevent: snapshot\ndata: {\"a\":\"ä\"}\n\nid: 2\nevent: text-delta\ndata: {\"text\":\"x: y\"}\n\nevent: cut";
        for size in 1..=text.len() {
            let mut frames = FrameBuffer::default();
            let mut seen = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                frames.push(piece).unwrap();
                while let Some(frame) = frames.pop_frame() {
                    seen.extend(parse_frame(&frame).unwrap());
                }
            }
            let expected =
                [("snapshot", json!({"a": "ä"})), ("text-delta", json!({"text": "x: y"}))];
            let expected =
                expected.map(|(name, data)| ServerSentEvent { name: name.to_owned(), data });
            assert_eq!(seen, expected, "{size}");
        }
        assert!(parse_frame("event: a\ndata: {").is_err());
    }
}
