//! Requests with both `Content-Length` and `Transfer-Encoding`: another server may find the end of
//! such a body at a different position (request smuggling, RFC 9112 6.1).
//!
//! hyper obeys `Transfer-Encoding` and removes `Content-Length` before a handler sees the request.
//! This stream therefore also parses the heads of a connection, with the parser that hyper uses,
//! until the first request with `Transfer-Encoding`: the middleware closes the connection after
//! that one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::http::header;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::{HEAD_BYTES, HEADERS};

/// Whether a connection had a request with two lengths; in the extensions of each of its requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Framing {
    has_two_lengths: Arc<AtomicBool>,
}

impl Framing {
    /// Returns whether the request of this connection that has `Transfer-Encoding` also has
    /// `Content-Length`.
    pub(crate) fn has_two_lengths(&self) -> bool {
        self.has_two_lengths.load(Ordering::Relaxed)
    }
}

/// A stream that parses the heads of requests.
pub(super) struct FramedStream<S> {
    stream: S,
    reader: HeadReader,
}

impl<S> FramedStream<S> {
    pub(super) fn new(stream: S, framing: Framing) -> Self {
        Self { stream, reader: HeadReader { framing, state: HeadState::default() } }
    }
}

struct HeadReader {
    framing: Framing,
    state: HeadState,
}

enum HeadState {
    /// The received part of a request head.
    Head(Vec<u8>),
    /// Number of bytes of a body that remain.
    Body(u64),
    /// Nothing more is parsed.
    Done,
}

impl Default for HeadState {
    fn default() -> Self {
        Self::Head(Vec::new())
    }
}

/// The length of the body that follows a head.
enum Length {
    /// The head is not complete.
    Partial,
    Body {
        head: usize,
        bytes: u64,
    },
    /// A body with `Transfer-Encoding`.
    Encoded {
        has_length: bool,
    },
    /// A malformed head, which hyper refuses too.
    Malformed,
}

impl HeadReader {
    fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.state = match std::mem::replace(&mut self.state, HeadState::Done) {
                HeadState::Done => return,
                HeadState::Body(left) => {
                    let skipped = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = bytes.get(skipped..).unwrap_or_default();
                    match left.saturating_sub(skipped as u64) {
                        0 => HeadState::default(),
                        left => HeadState::Body(left),
                    }
                }
                HeadState::Head(mut head) => {
                    let before = head.len();
                    head.extend_from_slice(bytes);
                    // A head that arrives byte by byte is parsed once, when it is complete.
                    let recent = head.get(before.saturating_sub(3)..).unwrap_or_default();
                    match if ends_head(recent) { length(&head) } else { Length::Partial } {
                        Length::Partial if head.len() > HEAD_BYTES => HeadState::Done,
                        Length::Partial => {
                            bytes = &[];
                            HeadState::Head(head)
                        }
                        Length::Body { head, bytes: length } => {
                            let used = head.saturating_sub(before);
                            bytes = bytes.get(used..).unwrap_or_default();
                            if length == 0 { HeadState::default() } else { HeadState::Body(length) }
                        }
                        Length::Encoded { has_length } => {
                            self.framing.has_two_lengths.store(has_length, Ordering::Relaxed);
                            HeadState::Done
                        }
                        Length::Malformed => HeadState::Done,
                    }
                }
            };
        }
    }
}

/// Returns whether these bytes contain an empty line.
fn ends_head(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|two| two == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

fn length(head: &[u8]) -> Length {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let end = match request.parse(head) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Length::Partial,
        Err(_) => return Length::Malformed,
    };
    let values = |name: header::HeaderName| {
        let same = move |one: &&httparse::Header<'_>| one.name.eq_ignore_ascii_case(name.as_str());
        request.headers.iter().find(same).map(|one| one.value)
    };
    let length = values(header::CONTENT_LENGTH);
    if values(header::TRANSFER_ENCODING).is_some() {
        return Length::Encoded { has_length: length.is_some() };
    }
    let Some(length) = length else { return Length::Body { head: end, bytes: 0 } };
    let bytes = std::str::from_utf8(length).ok().and_then(|text| text.trim().parse().ok());
    bytes.map_or(Length::Malformed, |bytes| Length::Body { head: end, bytes })
}

impl<S: AsyncRead + Unpin> AsyncRead for FramedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.reader.read(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FramedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that two lengths are detected, regardless of the pieces in which the requests arrive.
    fn check(sent: &str, expected: bool) {
        for size in [1, 7, 4096] {
            let framing = Framing::default();
            let mut reader = HeadReader { framing: framing.clone(), state: HeadState::default() };
            sent.as_bytes().chunks(size).for_each(|piece| reader.read(piece));
            assert_eq!(framing.has_two_lengths(), expected, "{sent:?} in pieces of {size}");
        }
    }

    #[test]
    fn two_lengths_are_found_in_heads_and_not_in_bodies() {
        let both = "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
        let swapped = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n";
        let first = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd";
        check(both, true);
        check(swapped, true);
        check(&format!("{first}{both}"), true);
        check(&format!("GET / HTTP/1.1\r\n\r\n{swapped}"), true);
        check(first, false);
        check(&format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{both}", both.len()), false);
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(chunked, false);
        check(&format!("{chunked}{:x}\r\n{both}\r\n0\r\n\r\n", both.len()), false);
        check(&format!("GET / HTTP/1.1\r\nX: {}", "y".repeat(40_000)), false);
    }
}
