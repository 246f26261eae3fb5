//! Bounds what an IMAP server sends, before the parser believes a length.
//!
//! The parser makes room for a literal (`{400000000}`) as soon as it reads its length, up to
//! 512 MB, and reads a line again whenever more of it arrives. So the lengths of literals and lines
//! are checked here, and all that one command may bring.
#![deny(clippy::indexing_slicing)]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Longest line; the numbers of about 100,000 mails.
const MAX_LINE: usize = 1 << 20;
/// Most lines of one command: each is parsed.
const MAX_LINES: usize = 50_000;
/// Bytes of a line's end that can be the length of a literal.
const TAIL: usize = 24;
/// Bytes of a line's beginning that say what kind of response it is.
const HEAD: usize = 12;

/// A connection whose answers are bounded.
#[derive(Debug)]
pub(crate) struct ImapGuard<S> {
    inner: S,
    max_literal: u64,
    /// Bytes that may still come for this command.
    left: u64,
    /// Bytes of a literal that are still to come.
    literal: u64,
    line: usize,
    /// Lines that came for this command.
    lines: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<S> ImapGuard<S> {
    pub(crate) fn new(inner: S, max_literal: u64) -> Self {
        let mut guard = Self {
            inner,
            max_literal,
            left: 0,
            literal: 0,
            line: 0,
            lines: 0,
            head: Vec::new(),
            tail: Vec::new(),
        };
        guard.next_command();
        guard
    }

    /// A new command may bring as much as the last one.
    pub(crate) fn next_command(&mut self) {
        self.left = self.max_literal.saturating_add(8 << 20);
        self.lines = 0;
    }

    fn look_at(&mut self, bytes: &[u8]) -> io::Result<()> {
        let count = bytes.len() as u64;
        self.left = self.left.checked_sub(count).ok_or_else(|| too_much("the answer"))?;
        for byte in bytes {
            if self.literal > 0 {
                self.literal -= 1;
                continue;
            }
            self.line += 1;
            if self.line > MAX_LINE {
                return Err(too_much("a line"));
            }
            if self.head.len() < HEAD {
                self.head.push(*byte);
            }
            if self.tail.len() == TAIL {
                self.tail.remove(0);
            }
            self.tail.push(*byte);
            if *byte == b'\n' {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> io::Result<()> {
        let length = literal_length(&self.tail);
        if length.is_some_and(|length| length > self.max_literal) {
            return Err(too_much("a text"));
        }
        self.lines += 1;
        if self.lines > MAX_LINES {
            return Err(too_much("the answer"));
        }
        (self.line, self.tail) = (0, Vec::new());
        match length.filter(|_| has_literals(&self.head)) {
            // The rest of the response follows: its beginning still says what it is.
            Some(length) => self.literal = length,
            None => self.head.clear(),
        }
        Ok(())
    }
}

/// Whether a response of this beginning can contain literals. The text of a status can end with
/// what looks like one.
fn has_literals(head: &[u8]) -> bool {
    let Some(rest) = head.strip_prefix(b"* ") else { return false };
    let is_status =
        |word: &&[u8]| rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let words: [&[u8]; 5] = [b"OK", b"NO", b"BAD", b"BYE", b"PREAUTH"];
    !words.iter().any(is_status)
}

/// The length at the end of a line: `{123}` or `{123+}`.
fn literal_length(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\n")?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_suffix(b"}")?;
    let line = line.strip_suffix(b"+").unwrap_or(line);
    let Some(open) = line.iter().rposition(|byte| *byte == b'{') else {
        // More digits than are kept, such as zeros in front that hide the length.
        let is_long = line.len() > TAIL / 2 && line.iter().all(u8::is_ascii_digit);
        return is_long.then_some(u64::MAX);
    };
    let digits = line.get(open + 1..)?;
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    Some(text.parse().unwrap_or(u64::MAX))
}

fn too_much(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is longer than what is read"))
}

impl<S: AsyncRead + Unpin> AsyncRead for ImapGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let new = buf.filled().get(before..).unwrap_or_default();
        Poll::Ready(self.look_at(new))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ImapGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], expected: Result<(), &str>) {
        let mut guard = ImapGuard::new((), 1_000);
        let found = guard.look_at(input).map_err(|error| error.to_string());
        match expected {
            Ok(()) => assert_eq!(found, Ok(()), "{}", String::from_utf8_lossy(input)),
            Err(part) => assert!(found.clone().is_err_and(|e| e.contains(part)), "{found:?}"),
        }
    }

    #[test]
    fn lengths_are_checked_before_they_are_believed() {
        check(b"* 1 FETCH (BODY[] {400000000}\r\n", Err("a text"));
        check(b"* 1 FETCH (BODY[] {99999999999999999999999}\r\n", Err("a text"));
        check(b"* 1 FETCH (BODY[] {00000000000000000000000400000000}\r\n", Err("a text"));
        check(b"* 1 FETCH (BODY[] {5}\r\n{9999})\r\n* 2 EXISTS\r\n", Ok(()));
        // A literal hides nothing behind it.
        check(b"* 1 FETCH (A {3}\r\nabc B {400000}\r\n", Err("a text"));
        // The text of a status is no literal that could hide one.
        check(b"* OK hello {900}\r\n* 1 FETCH (BODY[] {400000}\r\n", Err("a text"));
        check(b"A1 OK done {900}\r\n* 1 FETCH (BODY[] {400000}\r\n", Err("a text"));
        check(&vec![b'x'; MAX_LINE + 1], Err("a line"));
        check(&b"* 1 EXISTS\r\n".repeat(1_000_000), Err("the answer"));
    }
}
