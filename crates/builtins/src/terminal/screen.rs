//! The end of a terminal's output, addressed by the number of bytes since its beginning.

use std::collections::VecDeque;

/// Stored bytes: 10,000 lines of a hundred characters.
const KEPT: usize = 1 << 20;
/// Maximum bytes returned at once.
const AT_ONCE: usize = 64 * 1024;

/// A part of a terminal's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPart {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Number of bytes up to the end of this part.
    pub end: u64,
    /// Whether earlier output is no longer stored, so that the client must clear its screen.
    pub cut: bool,
    /// Exit code of the shell, in the last part.
    pub ended: Option<i32>,
}

/// The end of a terminal's output.
#[derive(Debug, Default)]
pub(super) struct Screen {
    bytes: VecDeque<u8>,
    /// Number of bytes that are no longer stored.
    gone: u64,
    pub(super) ended: Option<i32>,
}

impl Screen {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(KEPT);
        self.bytes.drain(..excess);
        self.gone += excess as u64;
    }

    /// Returns the output after the first `seen` bytes; `None` if there is nothing new.
    pub(super) fn after(&self, seen: u64) -> Option<OutputPart> {
        let total = self.gone + self.bytes.len() as u64;
        let from = if seen > total { self.gone } else { seen.max(self.gone) };
        let cut = from != seen;
        let skip = usize::try_from(from - self.gone).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = self.bytes.iter().skip(skip).take(AT_ONCE).copied().collect();
        let end = from + bytes.len() as u64;
        let ended = self.ended.filter(|_| end == total);
        let is_new = !bytes.is_empty() || cut || ended.is_some();
        is_new.then_some(OutputPart { bytes, end, cut, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_continues_where_it_was_or_begins_anew() {
        let mut screen = Screen::default();
        assert_eq!(screen.after(0), None);
        screen.add(b"hello ");
        screen.add(b"world");
        let all = screen.after(0).unwrap();
        assert_eq!((all.bytes.as_slice(), all.end, all.cut), (&b"hello world"[..], 11, false));
        assert_eq!(screen.after(6).unwrap().bytes, b"world");
        assert_eq!(screen.after(11), None);
        // A client that has seen more than the total has seen another shell.
        assert!(screen.after(99).unwrap().cut);
        screen.add(&vec![b'x'; KEPT]);
        let cut = screen.after(6).unwrap();
        assert_eq!((cut.cut, cut.bytes.len(), cut.end), (true, AT_ONCE, 11 + AT_ONCE as u64));
        screen.ended = Some(3);
        assert_eq!(screen.after(6).unwrap().ended, None, "there is more before the end");
        assert_eq!(screen.after(11 + KEPT as u64).unwrap().ended, Some(3));
    }
}
