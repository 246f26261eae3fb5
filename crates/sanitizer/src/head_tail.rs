//! Collects head and tail of a stream of any length in bounded memory.
#![deny(clippy::indexing_slicing)]

use std::collections::VecDeque;

/// Maximum bytes of one character in UTF-8 (RFC 3629 §3).
const BYTES_PER_CHAR: usize = 4;

/// Bytes stored before the tail, to distinguish its first character from an incomplete one.
const MAX_SPLIT_BYTES: usize = 3;

/// Collects a stream and stores its beginning and its end, with equally many characters each.
///
/// Memory is bounded by about four bytes per stored character, for streams of any length (10 GB and
/// more). The result depends only on the bytes, not on how they were split into chunks.
///
/// ```
/// use toolcrib_sanitizer::HeadTail;
///
/// let mut output = HeadTail::new(10);
/// for chunk in [&b"first"[..], &[b'.'; 5_000], b" last"] {
///     output.push(chunk);
/// }
/// let text = output.finish().into_text();
/// assert_eq!(text, "first\n[... 5000 bytes omitted ...]\n last");
/// ```
#[derive(Debug)]
pub struct HeadTail {
    head_chars: usize,
    tail_chars: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
}

/// The collected parts of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The beginning; the whole text if nothing was omitted. Invalid UTF-8 is replaced by U+FFFD.
    pub head: String,
    /// The end; empty if nothing was omitted.
    pub tail: String,
    /// Number of bytes received.
    pub total_bytes: u64,
    /// Number of bytes omitted between head and tail.
    pub omitted_bytes: u64,
}

impl Captured {
    /// Returns whether anything was omitted.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.omitted_bytes > 0
    }

    /// Returns head and tail, with a marker between them that counts the omitted bytes.
    #[must_use]
    pub fn into_text(self) -> String {
        if !self.is_cut() {
            return self.head;
        }
        let Self { head, tail, omitted_bytes, .. } = self;
        format!("{head}\n[... {omitted_bytes} bytes omitted ...]\n{tail}")
    }
}

impl HeadTail {
    /// Creates a collector that stores `max_chars` characters, half from each end.
    #[must_use]
    pub fn new(max_chars: usize) -> Self {
        let head_chars = max_chars / 2;
        Self {
            head_chars,
            tail_chars: max_chars - head_chars,
            head: Vec::new(),
            tail: VecDeque::new(),
            total_bytes: 0,
        }
    }

    /// Returns the number of bytes received so far.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Adds the next bytes of the stream.
    pub fn push(&mut self, chunk: &[u8]) {
        self.total_bytes += chunk.len() as u64;
        let room = self.head_chars * BYTES_PER_CHAR - self.head.len();
        let (to_head, rest) = chunk.split_at_checked(room).unwrap_or((chunk, &[]));
        self.head.extend_from_slice(to_head);
        let capacity = self.tail_chars * BYTES_PER_CHAR + MAX_SPLIT_BYTES;
        let last = rest.get(rest.len().saturating_sub(capacity)..).unwrap_or(rest);
        let too_many = (self.tail.len() + last.len()).saturating_sub(capacity);
        self.tail.drain(..too_many.min(self.tail.len()));
        self.tail.extend(last);
    }

    /// Ends the stream.
    #[must_use]
    pub fn finish(self) -> Captured {
        let held = (self.head.len() + self.tail.len()) as u64;
        let tail: Vec<u8> = self.tail.into();
        if held == self.total_bytes {
            let mut whole = self.head;
            whole.extend_from_slice(&tail);
            return from_whole(&whole, self.head_chars, self.tail_chars);
        }
        // The head ends inside the stream: its last character may be incomplete, but four bytes are
        // stored for every requested character, so it is not among those.
        let (head, head_bytes) = first_chars(&self.head, self.head_chars);
        let torn = tail.iter().take(MAX_SPLIT_BYTES).take_while(|b| is_continuation(**b)).count();
        let (tail, tail_bytes) = last_chars(tail.get(torn..).unwrap_or(&[]), self.tail_chars);
        Captured {
            head,
            tail,
            total_bytes: self.total_bytes,
            omitted_bytes: self.total_bytes - (head_bytes + tail_bytes) as u64,
        }
    }
}

fn from_whole(bytes: &[u8], head_chars: usize, tail_chars: usize) -> Captured {
    let total_bytes = bytes.len() as u64;
    let count = units(bytes).count();
    if count <= head_chars + tail_chars {
        let head = String::from_utf8_lossy(bytes).into_owned();
        return Captured { head, tail: String::new(), total_bytes, omitted_bytes: 0 };
    }
    let (head, head_bytes) = first_chars(bytes, head_chars);
    let (tail, tail_bytes) = last_chars(bytes, tail_chars);
    let omitted_bytes = total_bytes - (head_bytes + tail_bytes) as u64;
    Captured { head, tail, total_bytes, omitted_bytes }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Returns the characters of a byte string and the number of bytes of each; every maximal invalid
/// sequence is one U+FFFD, as in `String::from_utf8_lossy`.
fn units(bytes: &[u8]) -> impl Iterator<Item = (char, usize)> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let invalid = Some(chunk.invalid().len()).filter(|len| *len > 0);
        let valid = chunk.valid().chars().map(|c| (c, c.len_utf8()));
        valid.chain(invalid.map(|len| (char::REPLACEMENT_CHARACTER, len)))
    })
}

fn first_chars(bytes: &[u8], most: usize) -> (String, usize) {
    let mut text = String::new();
    let mut taken = 0;
    for (c, len) in units(bytes).take(most) {
        text.push(c);
        taken += len;
    }
    (text, taken)
}

fn last_chars(bytes: &[u8], most: usize) -> (String, usize) {
    let all: Vec<(char, usize)> = units(bytes).collect();
    let last = all.get(all.len().saturating_sub(most)..).unwrap_or(&[]);
    (last.iter().map(|(c, _)| c).collect(), last.iter().map(|(_, len)| len).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collect<'a>(max_chars: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Captured {
        let mut collector = HeadTail::new(max_chars);
        chunks.into_iter().for_each(|chunk| collector.push(chunk));
        collector.finish()
    }

    #[test]
    fn a_short_stream_is_whole() {
        let captured = collect(10, [&b"01234"[..], b"56789"]);
        assert!(!captured.is_cut());
        assert_eq!(captured.into_text(), "0123456789");
    }

    #[test]
    fn a_long_stream_keeps_both_ends_and_counts_the_rest() {
        let chunk = [b'x'; 8_192];
        let mut collector = HeadTail::new(10);
        collector.push(b"begin");
        for _ in 0..1_000 {
            collector.push(&chunk);
        }
        collector.push("énd".as_bytes());
        let most = collector.head.capacity() + collector.tail.capacity();
        assert!(most < 1_000, "{most} bytes held");
        let captured = collector.finish();
        assert_eq!(captured.total_bytes, 5 + 8_192_000 + 4);
        assert_eq!(captured.omitted_bytes, captured.total_bytes - 5 - 6);
        assert_eq!(captured.into_text(), "begin\n[... 8191998 bytes omitted ...]\nxxénd");
    }

    #[test]
    fn a_character_split_across_chunks_is_whole() {
        let captured = collect(10, "a€b".as_bytes().chunks(1));
        assert_eq!(captured.into_text(), "a€b");
    }

    /// The same from the whole stream at once.
    fn naive(bytes: &[u8], max_chars: usize) -> (String, String) {
        let text: Vec<char> = String::from_utf8_lossy(bytes).chars().collect();
        let head = max_chars / 2;
        if text.len() <= max_chars {
            return (text.into_iter().collect(), String::new());
        }
        let tail = text.len() - (max_chars - head);
        (text[..head].iter().collect(), text[tail..].iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn any_chunking_gives_the_naive_head_and_tail(
            pieces in proptest::collection::vec(
                prop_oneof![
                    "\\PC{0,8}".prop_map(String::into_bytes),
                    proptest::collection::vec(any::<u8>(), 0..8),
                    Just("日本語🎉".as_bytes().to_vec()),
                    Just(vec![0x80, 0x80, 0xE2, 0x82]),
                ],
                0..20,
            ),
            max_chars in 0_usize..24,
            chunk in 1_usize..40,
        ) {
            let bytes = pieces.concat();
            let captured = collect(max_chars, bytes.chunks(chunk));
            let (head, tail) = naive(&bytes, max_chars);
            prop_assert_eq!(&captured.head, &head);
            prop_assert_eq!(&captured.tail, &tail);
            prop_assert_eq!(captured.total_bytes, bytes.len() as u64);
            if std::str::from_utf8(&bytes).is_ok() {
                let kept = (head.len() + tail.len()) as u64;
                prop_assert_eq!(captured.omitted_bytes, captured.total_bytes - kept);
            }
        }
    }
}
