//! Decodes keys from the bytes of a terminal.
#![deny(clippy::indexing_slicing)]

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Backspace,
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    End,
    /// Ctrl-U.
    KillLine,
    /// Ctrl-W.
    KillWord,
}

/// Maximum length of an escape sequence; a longer one is not a key.
const SEQUENCE_BYTES: usize = 32;

/// Decodes keys from pieces of any size. Keys without a use here (arrows, function keys) are
/// ignored.
#[derive(Debug, Default)]
pub(crate) struct KeyDecoder {
    pending: Vec<u8>,
}

impl KeyDecoder {
    /// Returns the keys that these bytes complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((used, key)) = next(&self.pending) {
            keys.extend(key);
            self.pending.drain(..used);
        }
        keys
    }

    /// Ends a partial sequence without further bytes: it was the Escape key.
    pub(crate) fn flush(&mut self) -> Option<Key> {
        let is_escape = self.pending.first() == Some(&0x1b);
        self.pending.clear();
        is_escape.then_some(Key::Escape)
    }

    /// Returns whether a partial sequence is waiting for more bytes.
    pub(crate) fn has_partial(&self) -> bool {
        !self.pending.is_empty()
    }
}

/// Returns the length and the key at the start of these bytes; `None` if more bytes are needed.
fn next(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let first = *bytes.first()?;
    let one = |key| Some((1, Some(key)));
    match first {
        b'\r' | b'\n' => one(Key::Enter),
        0x7f | 0x08 => one(Key::Backspace),
        0x03 => one(Key::Interrupt),
        0x04 => one(Key::End),
        0x15 => one(Key::KillLine),
        0x17 => one(Key::KillWord),
        b'\t' => one(Key::Char(' ')),
        0x1b => sequence(bytes),
        0..0x20 => Some((1, None)),
        _ => character(bytes),
    }
}

/// Decodes CSI and SS3 sequences (ECMA-48 5.4); Alt with a key; Escape twice.
fn sequence(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    match bytes.get(1)? {
        b'[' => {
            let end = bytes.iter().skip(2).position(|b| (0x40..=0x7e).contains(b));
            match end {
                Some(at) => Some((at + 3, None)),
                None if bytes.len() > SEQUENCE_BYTES => Some((bytes.len(), None)),
                None => None,
            }
        }
        b'O' => bytes.get(2).map(|_| (3, None)),
        0x1b => Some((1, Some(Key::Escape))),
        _ => Some((2, None)),
    }
}

fn character(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let head = bytes.get(..4).unwrap_or(bytes);
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?
        }
        // The rest of the character has not arrived yet.
        Err(error) if error.error_len().is_none() => return None,
        Err(_) => return Some((1, None)),
    };
    let c = valid.chars().next()?;
    Some((c.len_utf8(), (!c.is_control()).then_some(Key::Char(c))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_come_whole_and_sequences_are_left_out() {
        let mut decoder = KeyDecoder::default();
        let check = |decoder: &mut KeyDecoder, bytes: &[u8], keys: &[Key]| {
            assert_eq!(decoder.feed(bytes), keys, "{bytes:?}");
        };
        check(&mut decoder, b"y\r", &[Key::Char('y'), Key::Enter]);
        check(&mut decoder, "é".as_bytes(), &[Key::Char('é')]);
        check(&mut decoder, &[0xc3], &[]);
        check(&mut decoder, &[0xa9, 0x7f], &[Key::Char('é'), Key::Backspace]);
        check(&mut decoder, b"\x1b[A\x1b[1;5Cx\x1bOP", &[Key::Char('x')]);
        check(&mut decoder, b"\x03\x04\x15", &[Key::Interrupt, Key::End, Key::KillLine]);
        check(&mut decoder, b"\x1b", &[]);
        assert_eq!(decoder.flush(), Some(Key::Escape));
        assert!(!decoder.has_partial());
    }

    proptest! {
        #[test]
        fn the_pieces_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..40), cut in 0usize..40) {
            let cut = cut.min(bytes.len());
            let whole = KeyDecoder::default().feed(&bytes);
            let mut decoder = KeyDecoder::default();
            let mut pieces = decoder.feed(&bytes[..cut]);
            pieces.extend(decoder.feed(&bytes[cut..]));
            prop_assert_eq!(whole, pieces);
        }
    }
}
