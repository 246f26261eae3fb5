//! Output capture: stores the beginning and the end of a stream, and counts its bytes.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A stream that is being captured.
#[derive(Debug)]
pub struct Capture {
    /// Bytes kept at each end.
    half: usize,
    /// Maximum characters of the captured parts; `None` if only bytes count.
    chars: Option<usize>,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

/// The captured parts of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// Its beginning, or all of it.
    pub head: Vec<u8>,
    /// Its end; empty if nothing was dropped.
    pub tail: Vec<u8>,
    /// Total bytes, including dropped ones.
    pub total: u64,
}

impl Capture {
    /// Captures up to `limit` bytes, half at each end.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        let half = limit.div_ceil(2);
        Self { half, chars: None, head: Vec::new(), tail: Vec::new(), total: 0 }
    }

    /// Captures up to `limit` characters, half at each end, so that texts in all scripts get the
    /// same space.
    #[must_use]
    pub fn of_chars(limit: usize) -> Self {
        // A character has at most 4 bytes in UTF-8 (RFC 3629).
        Self { chars: Some(limit), ..Self::new(limit.saturating_mul(4)) }
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        // Only bytes that can be part of the end are copied, and the end is moved once per its own
        // length.
        let (_, rest) = rest.split_at(rest.len().saturating_sub(self.half));
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * self.half {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
    }

    /// Ends the capture.
    #[must_use]
    pub fn finish(mut self) -> Captured {
        self.shorten();
        if self.total == (self.head.len() + self.tail.len()) as u64 {
            self.head.append(&mut self.tail);
        }
        let captured = Captured { head: self.head, tail: self.tail, total: self.total };
        match self.chars {
            Some(limit) => captured.within_chars(limit),
            None => captured,
        }
    }
}

/// Counts the UTF-8 characters in a part of a stream, which may begin inside one. A byte that is
/// not UTF-8 counts too, unless it looks like the inside of a character.
#[must_use]
pub fn count_chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| begins_char(**byte)).count()
}

/// Returns whether the byte is the first of a character (RFC 3629: all others are `10xxxxxx`).
fn begins_char(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

impl Captured {
    /// Shortens the parts to at most `limit` characters, half at each end.
    fn within_chars(mut self, limit: usize) -> Self {
        if !self.is_cut() && count_chars(&self.head) <= limit {
            return self;
        }
        if !self.is_cut() {
            self.tail = self.head.clone();
        }
        let half = limit.div_ceil(2);
        let starts = |bytes: &[u8]| -> Vec<usize> {
            let starts = bytes.iter().enumerate().filter(|(_, byte)| begins_char(**byte));
            starts.map(|(at, _)| at).collect()
        };
        if let Some(end) = starts(&self.head).get(half) {
            self.head.truncate(*end);
        }
        if let Some(first) = starts(&self.tail).iter().rev().take(half).next_back() {
            self.tail.drain(..*first);
        }
        self
    }

    /// Returns whether bytes between the two ends were dropped.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.dropped() > 0
    }

    /// Returns the number of dropped bytes.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Returns the stream as text. Invalid UTF-8 becomes U+FFFD, and a line between the ends states
    /// the number of dropped bytes.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let head = String::from_utf8_lossy(&self.head);
        if !self.is_cut() {
            return head;
        }
        let tail = String::from_utf8_lossy(&self.tail);
        // The cut may be inside a character.
        let head = head.trim_end_matches(char::REPLACEMENT_CHARACTER);
        let tail = tail.trim_start_matches(char::REPLACEMENT_CHARACTER);
        Cow::Owned(format!("{head}\n[… {} bytes left out …]\n{tail}", self.dropped()))
    }

    /// Returns the last characters of the stream, trimmed; "…" precedes them if there is more.
    #[must_use]
    pub fn last(&self, chars: usize) -> String {
        let end = if self.is_cut() { &self.tail } else { &self.head };
        let text = String::from_utf8_lossy(end);
        let text = text.trim();
        match text.char_indices().rev().take(chars).last() {
            Some((start, _)) if start > 0 => format!("…{}", text.get(start..).unwrap_or_default()),
            _ => text.to_owned(),
        }
    }
}

/// Reads a stream of any length to its end.
pub(super) async fn drain(stream: Option<impl AsyncRead + Unpin>, capture: &mut Capture) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => capture.push(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Reads a stream to its end and captures up to `limit` bytes.
pub(crate) async fn capture_stream(stream: impl AsyncRead + Unpin, limit: usize) -> Captured {
    let mut capture = Capture::new(limit);
    drain(Some(stream), &mut capture).await;
    capture.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, pieces: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(limit);
        pieces.iter().for_each(|piece| capture.push(piece));
        capture.finish()
    }

    #[test]
    fn both_ends_are_kept_and_everything_is_counted() {
        let check = |limit, pieces: &[&[u8]], head: &[u8], tail: &[u8], total| {
            let wanted = Captured { head: head.to_vec(), tail: tail.to_vec(), total };
            assert_eq!(captured(limit, pieces), wanted, "{limit} {pieces:?}");
        };
        check(4, &[], b"", b"", 0);
        check(4, &[b"ab"], b"ab", b"", 2);
        check(4, &[b"ab", b"cd"], b"abcd", b"", 4);
        check(4, &[b"abcd", b"e"], b"ab", b"de", 5);
        check(4, &[b"a", b"b", b"c", b"d", b"e", b"f", b"g"], b"ab", b"fg", 7);
        check(4, &[b"abcdefghij"], b"ab", b"ij", 10);
        check(0, &[b"abc"], b"", b"", 3);
    }

    #[test]
    fn text_says_what_is_missing_and_a_cut_character_leaves_no_mark() {
        assert_eq!(captured(8, &["ä\u{0}".as_bytes()]).text(), "ä\0");
        assert_eq!(captured(8, &[b"a\xFFb"]).text(), "a\u{FFFD}b");
        let cut = captured(6, &["aäööübc".as_bytes()]);
        assert_eq!((cut.is_cut(), cut.dropped()), (true, 5));
        assert_eq!(cut.text(), "aä\n[… 5 bytes left out …]\nbc");
    }

    #[test]
    fn a_limit_of_characters_gives_every_script_the_same_room() {
        for letter in ["a", "ä", "語", "🦀"] {
            let check = |count: usize, expected: &str| {
                let mut capture = Capture::of_chars(6);
                letter.repeat(count).bytes().for_each(|byte| capture.push(&[byte]));
                let captured = capture.finish();
                assert_eq!(captured.text(), expected, "{letter} {count}");
                assert_eq!(captured.total, (letter.len() * count) as u64);
            };
            check(6, &letter.repeat(6));
            for count in [7, 9, 100] {
                let (end, dropped) = (letter.repeat(3), (count - 6) * letter.len());
                check(count, &format!("{end}\n[… {dropped} bytes left out …]\n{end}"));
            }
        }
        assert_eq!(count_chars("aä語🦀".as_bytes()), 4);
    }

    #[test]
    fn the_last_characters() {
        let said = captured(100, &["\n error: größer\n\n".as_bytes()]);
        assert_eq!(said.last(100), "error: größer");
        assert_eq!(said.last(5), "…rößer");
        assert_eq!(captured(8, &[b"aaaaaaaaabcd"]).last(3), "…bcd");
        assert_eq!(captured(8, &[b"aaaaaaaaabcd"]).last(4), "abcd");
    }
}
