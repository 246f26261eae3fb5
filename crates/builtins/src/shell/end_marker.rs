//! Scanner for the end mark of a command: a nonce in the stream, followed by a few fields.
#![deny(clippy::indexing_slicing)]

use memchr::memmem;

/// Begins and ends a mark.
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;
/// Separates the fields of a mark.
pub(super) const UNIT_SEPARATOR: u8 = 0x1f;

/// Maximum bytes of the fields, which are a path and a number. A longer text is not a mark.
const FIELDS: usize = 16 * 1024;

/// Finds the mark of one command in a stream that arrives in chunks.
#[derive(Debug)]
pub(super) struct EndMarkerScanner {
    /// The beginning of the mark: a separator and the nonce.
    mark: Vec<u8>,
    /// Bytes that may be the beginning of a mark.
    held: Vec<u8>,
    /// Fields read so far, once the beginning was seen.
    fields: Option<Vec<u8>>,
    /// Whether the end of the mark was seen.
    is_done: bool,
}

impl EndMarkerScanner {
    pub(super) fn new(nonce: &str) -> Self {
        let mark = [&[RECORD_SEPARATOR], nonce.as_bytes()].concat();
        Self { mark, held: Vec::new(), fields: None, is_done: false }
    }

    /// Returns whether the whole mark was seen.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Consumes a chunk: output goes to `output`, bytes after the mark to `after`.
    pub(super) fn feed(
        &mut self,
        piece: &[u8],
        output: &mut impl FnMut(&[u8]),
        after: &mut Vec<u8>,
    ) {
        if self.is_done {
            after.extend_from_slice(piece);
        } else if self.fields.is_some() {
            self.feed_fields(piece, output, after);
        } else {
            self.held.extend_from_slice(piece);
            let held = std::mem::take(&mut self.held);
            match memmem::find(&held, &self.mark) {
                Some(at) => {
                    let (before, rest) = held.split_at(at);
                    output(before);
                    self.fields = Some(Vec::new());
                    let rest = rest.get(self.mark.len()..).unwrap_or_default();
                    self.feed_fields(rest, output, after);
                }
                None => {
                    let (before, rest) = held.split_at(held.len() - self.partial(&held));
                    output(before);
                    self.held = rest.to_vec();
                }
            }
        }
    }

    /// Returns the bytes that were held back, for a stream that ended without a mark.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Returns the fields of the mark.
    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        self.fields.iter().flat_map(|fields| fields.split(|byte| *byte == UNIT_SEPARATOR))
    }

    fn feed_fields(&mut self, piece: &[u8], output: &mut impl FnMut(&[u8]), after: &mut Vec<u8>) {
        let fields = self.fields.get_or_insert_default();
        match memchr::memchr(RECORD_SEPARATOR, piece) {
            Some(at) => {
                let (own, rest) = piece.split_at(at);
                fields.extend_from_slice(own);
                self.is_done = true;
                after.extend_from_slice(rest.get(1..).unwrap_or_default());
            }
            None => fields.extend_from_slice(piece),
        }
        if fields.len() > FIELDS && !self.is_done {
            let false_mark = self.fields.take().unwrap_or_default();
            output(&self.mark);
            output(&false_mark);
        }
    }

    /// Returns how many bytes at the end may be the beginning of a mark.
    fn partial(&self, held: &[u8]) -> usize {
        let longest = held.len().min(self.mark.len().saturating_sub(1));
        let tail = held.get(held.len() - longest..).unwrap_or_default();
        let begins = |at: &usize| tail.get(*at..).is_some_and(|rest| self.mark.starts_with(rest));
        memchr::memchr_iter(RECORD_SEPARATOR, tail).find(begins).map_or(0, |at| tail.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(pieces: &[&[u8]]) -> (Vec<u8>, Option<Vec<Vec<u8>>>, Vec<u8>) {
        let mut scanner = EndMarkerScanner::new("abc");
        let (mut out, mut after) = (Vec::new(), Vec::new());
        for piece in pieces {
            scanner.feed(piece, &mut |bytes| out.extend_from_slice(bytes), &mut after);
        }
        let fields = scanner.is_done().then(|| scanner.fields().map(<[u8]>::to_vec).collect());
        out.extend(scanner.rest());
        (out, fields, after)
    }

    #[test]
    fn output_ends_where_the_mark_begins() {
        let check = |pieces: &[&[u8]], out: &[u8], fields: Option<&[&[u8]]>, after: &[u8]| {
            let fields = fields.map(|fields| fields.iter().map(|field| field.to_vec()).collect());
            assert_eq!(scan(pieces), (out.to_vec(), fields, after.to_vec()), "{pieces:?}");
        };
        check(&[b"out\x1eabc\x1e"], b"out", Some(&[b""]), b"");
        check(&[b"\x1eabc\x1f0\x1f/w s\x1emore", b"!"], b"", Some(&[b"", b"0", b"/w s"]), b"more!");
        check(&[b"a\x1e", b"ab", b"c\x1f", b"1", b"\x1e"], b"a", Some(&[b"", b"1"]), b"");
        check(&[b"a\x1eab", b"d"], b"a\x1eabd", None, b"");
        check(&[b"\x1eabd\x1eabc\x1e"], b"\x1eabd", Some(&[b""]), b"");
        check(&[b"\x1e\x1e\x1eabc\x1e"], b"\x1e\x1e", Some(&[b""]), b"");
        check(&[b"a\x1eabc"], b"a", None, b"");
    }

    #[test]
    fn a_mark_without_an_end_is_output() {
        let long = vec![b'x'; FIELDS + 1];
        let (out, fields, _) = scan(&[b"a\x1eabc", &long]);
        assert_eq!((out.len(), fields), (1 + 4 + long.len(), None));
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_same_is_found(
            before in "[a-c\x1e]{0,20}",
            after in "[a-c\x1e\x1f]{0,10}",
            cuts in prop::collection::vec(0usize..60, 0..6),
        ) {
            let whole = format!("{before}\x1eabc\x1f7\x1f/x\x1e{after}").into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> =
                cuts.windows(2).map(|pair| &whole[pair[0]..pair[1]]).collect();
            prop_assert_eq!(scan(&pieces), scan(&[&whole]));
        }
    }
}
